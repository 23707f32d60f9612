"""Networks of transformers, small ones of every kind."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
import transformers

if TYPE_CHECKING:
    from collections.abc import Callable

Size = tuple[int, ...]
Built = tuple[torch.nn.Module, tuple[object, ...], dict[str, object]]

VOCABULARY = 60
ENCODER = {
    "vocab_size": VOCABULARY, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 48, "max_position_embeddings": 64, "pad_token_id": 0,
}  # fmt: skip
DECODER = {
    **ENCODER, "num_key_value_heads": 2, "bos_token_id": 1, "eos_token_id": 2, "use_cache": True,
}  # fmt: skip
SEQUENCE_PAIR = {
    "vocab_size": VOCABULARY, "d_model": 32, "encoder_layers": 2, "decoder_layers": 2, "encoder_attention_heads": 4,
    "decoder_attention_heads": 4, "encoder_ffn_dim": 48, "decoder_ffn_dim": 48, "pad_token_id": 0,
    "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
VISION = {
    "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 48, "image_size": 32,
    "patch_size": 16,
}  # fmt: skip


def tokens(size: Size) -> torch.Tensor:
    return torch.randint(3, VOCABULARY, size)


def text_model(model: str, config: str, **options: object) -> Callable[[Size], Built]:
    """Return a recipe for a network that takes tokens and an attention mask by keyword."""

    def recipe(size: Size) -> Built:
        network = getattr(transformers, model)(getattr(transformers, config)(**options))
        return (
            network,
            (),
            {"input_ids": tokens(size), "attention_mask": torch.ones(size, dtype=torch.long)},
        )

    return recipe


def positional(recipe: Callable[[Size], Built], keep: tuple[str, ...] = ()) -> Callable[[Size], Built]:
    """Return a recipe that gives the tokens by position, and of the keywords only `keep`."""

    def changed(size: Size) -> Built:
        model, _, kwargs = recipe(size)
        return model, (kwargs["input_ids"],), {name: kwargs[name] for name in keep}

    return changed


def with_labels(recipe: Callable[[Size], Built]) -> Callable[[Size], Built]:
    """Return a recipe whose network also computes its loss."""

    def changed(size: Size) -> Built:
        model, args, kwargs = recipe(size)
        return model, args, {**kwargs, "labels": tokens(size)}

    return changed


def padded(recipe: Callable[[Size], Built]) -> Callable[[Size], Built]:
    """Return a recipe whose input ends in tokens that do not count; a mask without any is zero where it is added."""

    def changed(size: Size) -> Built:
        model, args, kwargs = recipe(size)
        mask = torch.ones(size, dtype=torch.long)
        mask[:, -size[1] // 4 :] = 0
        return model, args, {**kwargs, "attention_mask": mask}

    return changed


def to_target(recipe: Callable[[Size], Built]) -> Callable[[Size], Built]:
    """Return a recipe of an encoder-decoder that is given a target as well."""

    def changed(size: Size) -> Built:
        model, args, kwargs = recipe(size)
        return model, args, {**kwargs, "decoder_input_ids": tokens((size[0], 5))}

    return changed


def whisper(size: Size) -> Built:
    config = transformers.WhisperConfig(
        **SEQUENCE_PAIR, num_mel_bins=size[1], max_source_positions=size[2] // 2, max_target_positions=16,
        suppress_tokens=None, begin_suppress_tokens=None,
    )  # fmt: skip
    model = transformers.WhisperForConditionalGeneration(config)
    return model, (torch.randn(size),), {"decoder_input_ids": tokens((1, 4))}


def wav2vec2(size: Size) -> Built:
    config = transformers.Wav2Vec2Config(
        vocab_size=VOCABULARY, hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=48,
        conv_dim=(32, 32, 32), conv_stride=(5, 4, 2), conv_kernel=(10, 4, 2), num_feat_extract_layers=3,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4, layerdrop=0.0, mask_time_length=2,
    )  # fmt: skip
    model = transformers.Wav2Vec2ForCTC(config)
    return model, (torch.randn(size),), {"labels": tokens((1, 4))}


def speecht5(size: Size) -> Built:
    config = transformers.SpeechT5Config(
        vocab_size=VOCABULARY, hidden_size=32, encoder_layers=2, decoder_layers=2, encoder_attention_heads=4,
        decoder_attention_heads=4, encoder_ffn_dim=48, decoder_ffn_dim=48, num_mel_bins=8,
        speech_decoder_prenet_units=16, speech_decoder_postnet_units=16, speaker_embedding_dim=12,
        num_conv_pos_embeddings=16, num_conv_pos_embedding_groups=4,
    )  # fmt: skip
    model = transformers.SpeechT5ForTextToSpeech(config)
    kwargs = {
        "decoder_input_values": torch.randn(1, 4, 8), "speaker_embeddings": torch.randn(1, 12),
    }  # fmt: skip
    return model, (tokens(size),), kwargs


def encodec(size: Size) -> Built:
    config = transformers.EncodecConfig(
        num_filters=4, hidden_size=16, codebook_dim=16, codebook_size=32, upsampling_ratios=[4, 4, 2, 2],
        target_bandwidths=[1.5, 3.0], num_lstm_layers=2,
    )  # fmt: skip
    model = transformers.EncodecModel(config)
    for layer in model.quantizer.layers:  # an untrained codebook is zero everywhere
        layer.codebook.embed.normal_()
    return model, (torch.randn(size),), {}


def clip(size: Size) -> Built:
    config = transformers.CLIPConfig(
        text_config={**ENCODER, "eos_token_id": 2, "bos_token_id": 1, "projection_dim": 16},
        vision_config={**VISION, "projection_dim": 16},
        projection_dim=16,
    )
    kwargs = {"input_ids": tokens((2, 6)), "pixel_values": torch.randn(size)}
    return transformers.CLIPModel(config), (), kwargs


def detr(size: Size) -> Built:
    backbone = transformers.ResNetConfig(
        embedding_size=8, hidden_sizes=[8, 16, 16, 32], depths=[1, 1, 1, 1], layer_type="basic",
        out_features=["stage4"],
    )  # fmt: skip
    config = transformers.DetrConfig(
        backbone_config=backbone, use_timm_backbone=False, use_pretrained_backbone=False, backbone=None, d_model=32,
        encoder_layers=2, decoder_layers=2, encoder_attention_heads=4, decoder_attention_heads=4, encoder_ffn_dim=48,
        decoder_ffn_dim=48, num_queries=6, num_labels=4,
    )  # fmt: skip
    return transformers.DetrForObjectDetection(config), (torch.randn(size),), {}


def segformer(size: Size) -> Built:
    config = transformers.SegformerConfig(
        depths=[1, 1, 1, 1], hidden_sizes=[8, 16, 16, 32], num_attention_heads=[1, 2, 2, 4], decoder_hidden_size=16,
        num_labels=5,
    )  # fmt: skip
    model = transformers.SegformerForSemanticSegmentation(config)
    return model, (torch.randn(size),), {}


def llava(size: Size) -> Built:
    image_token = VOCABULARY - 1
    config = transformers.LlavaConfig(
        vision_config=transformers.CLIPVisionConfig(**VISION),
        text_config=transformers.LlamaConfig(**DECODER),
        image_token_index=image_token, vision_feature_layer=-1, image_seq_length=4,
    )  # fmt: skip
    text = torch.tensor([[1, *[image_token] * 4, 7, 8, 9]])
    kwargs = {"input_ids": text, "pixel_values": torch.randn(size), "attention_mask": torch.ones_like(text)}
    return transformers.LlavaForConditionalGeneration(config), (), kwargs


def perceiver(size: Size) -> Built:
    config = transformers.PerceiverConfig(
        num_latents=8, d_latents=32, d_model=32, num_blocks=1, num_self_attends_per_block=2,
        num_self_attention_heads=4, num_cross_attention_heads=4, vocab_size=VOCABULARY, max_position_embeddings=size[1],
        qk_channels=32, v_channels=32,
    )  # fmt: skip
    return transformers.PerceiverForMaskedLM(config), (tokens(size),), {}


def time_series(size: Size) -> Built:
    batch, past = size
    config = transformers.TimeSeriesTransformerConfig(
        prediction_length=4, context_length=past - 7, d_model=16, encoder_layers=2, decoder_layers=2,
        encoder_attention_heads=2, decoder_attention_heads=2, encoder_ffn_dim=24, decoder_ffn_dim=24,
        num_time_features=2, scaling="mean",
    )  # fmt: skip
    observed = torch.ones(batch, past)
    observed[0] = 0  # a series of which nothing is known takes its scale from the others
    kwargs = {
        "past_values": torch.rand(batch, past),
        "past_time_features": torch.randn(batch, past, 2),
        "past_observed_mask": observed,
        "future_values": torch.rand(batch, 4),
        "future_time_features": torch.randn(batch, 4, 2),
    }
    return transformers.TimeSeriesTransformerForPrediction(config), (), kwargs


TRANSFORMERS: dict[str, Callable[[Size], Built]] = {
    "gpt2": text_model(
        "GPT2LMHeadModel", "GPT2Config", vocab_size=VOCABULARY, n_embd=32, n_layer=2, n_head=4, n_positions=64,
        bos_token_id=1, eos_token_id=2,
    ),
    "llama": with_labels(text_model("LlamaForCausalLM", "LlamaConfig", **DECODER)),
    "mistral": text_model("MistralForCausalLM", "MistralConfig", **DECODER, sliding_window=6),
    "gemma2": text_model(
        "Gemma2ForCausalLM", "Gemma2Config", **DECODER, head_dim=8, sliding_window=6, query_pre_attn_scalar=8
    ),
    "mixtral": text_model(
        "MixtralForCausalLM", "MixtralConfig", **DECODER, num_local_experts=3, num_experts_per_tok=2
    ),
    "mamba": positional(
        text_model(
            "MambaForCausalLM", "MambaConfig", vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2,
            state_size=4, pad_token_id=0, bos_token_id=1, eos_token_id=2,
        )
    ),
    "rwkv": positional(
        text_model(
            "RwkvForCausalLM", "RwkvConfig", vocab_size=VOCABULARY, hidden_size=16, num_hidden_layers=2,
            context_length=32, bos_token_id=1, eos_token_id=2,
        )
    ),
    "bert": with_labels(text_model("BertForMaskedLM", "BertConfig", **ENCODER)),
    "albert": text_model(
        "AlbertForMaskedLM", "AlbertConfig", **{**ENCODER, "num_hidden_layers": 3}, embedding_size=16,
        bos_token_id=1, eos_token_id=2,
    ),
    "deberta_v2": text_model(
        "DebertaV2ForMaskedLM", "DebertaV2Config", **ENCODER, relative_attention=True, pos_att_type=["c2p", "p2c"],
        position_buckets=8,
    ),
    "longformer": padded(
        text_model(
            "LongformerForMaskedLM", "LongformerConfig", **ENCODER, attention_window=[4, 4], bos_token_id=1,
            eos_token_id=2, sep_token_id=2,
        )
    ),
    "xlnet": text_model(
        "XLNetLMHeadModel", "XLNetConfig", vocab_size=VOCABULARY, d_model=32, n_layer=2, n_head=4, d_inner=48,
        pad_token_id=0, bos_token_id=1, eos_token_id=2,
    ),
    "t5": with_labels(
        text_model(
            "T5ForConditionalGeneration", "T5Config", vocab_size=VOCABULARY, d_model=32, d_kv=8, d_ff=48, num_layers=2,
            num_heads=4, pad_token_id=0, eos_token_id=1, decoder_start_token_id=0,
        )
    ),
    "bart": to_target(text_model("BartForConditionalGeneration", "BartConfig", **SEQUENCE_PAIR)),
    "whisper": whisper,
    "wav2vec2": wav2vec2,
    "speecht5": speecht5,
    "encodec": encodec,
    "clip": clip,
    "detr": detr,
    "segformer": segformer,
    "llava": llava,
    "perceiver": perceiver,
    "time_series_transformer": time_series,
}  # fmt: skip

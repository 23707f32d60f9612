"""What the product claims of a capture on one machine, and the tests that hold each claim true.

A claim names its tests, or the reason why there is none: the feature is not there, or it cannot be tried here. Tests are
written `file::function`; files stand below the `tests` folder of the package that is named first.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Claim:
    """Something that is claimed."""

    what: str
    tests: tuple[str, ...] = ()
    reason: str = ""
    """Why the claim, or the rest of it, has no test."""


T, C, V, D, M = "tl-torch/unit/", "tl-core/unit/", "tl-viz/unit/", "tl-doctor/unit/", "torchlens/"
HELD = T + "test_held_references.py::"
ROUTES = T + "test_honesty_routes.py::"
READS = T + "test_gap_reads.py::"
ENTRY = T + "test_entry_contexts.py::"
LATE = T + "test_provenance_late.py::"
SCRIPTS = T + "test_honesty_scripts.py::"
TRANSFORMS = T + "test_honesty_transforms.py::"
SHADOW = T + "test_honesty_shadow.py::"
ESCAPES = T + "test_honesty_escapes.py::"
CENSUS = T + "test_aten_census.py::"
PROFILE = T + "test_aten_profile.py::"
REFUSED = T + "test_refused_tensors.py::"
REFUSALS = T + "test_refusals.py::"
PLACES = T + "test_refused_places.py::"
SPREAD = T + "test_preflight_distributed.py::"
COMPILED = T + "test_compiled.py::"
HIGHER = T + "test_higher_order.py::"
VALIDATE = T + "test_validate.py::"
SOURCES = T + "test_sources.py::"
ROWS = T + "test_doctor_rows.py::"
EXTENSION = "tl-torch/validation/test_extension.py::"
LOADED = "tl-torch/validation/test_loaded.py::"
CORE = C + "validation/test_validate_core.py::"

ABSENT = "there is no such option"

CASES = {
    "1": Claim("a function taken as a module global is captured in one forward", (
        HELD + "test_function_is_seen_wherever_it_is_held",)),
    "2": Claim("so is one held as attribute, partial, closure, default, or in a container; the model stays as it was", (
        HELD + "test_function_is_seen_wherever_it_is_held", T + "test_untouched.py::test_after_success")),
    "3": Claim("so is one held in an object, as a dict key, or as a forward on the instance", (
        HELD + "test_function_is_seen_wherever_it_is_held", HELD + "test_forward_assigned_on_the_instance")),
    "4": Claim("wrapping is not needed and changes nothing", (SHADOW + "test_wrap_torch_sets_defaults_and_patches_nothing",)),
    "5": Claim("work on other threads, and threads that stay, leave the capture unverified", (
        ROUTES + "test_tensor_from_a_route_that_no_seam_shows", ROUTES + "test_write_that_no_call_shows",
        ROUTES + "test_thread_that_stays_trips_the_wire")),
    "6": Claim("the shadow detector is a diagnosis; with the witness it is a claim", (
        SHADOW + "test_clean_run_is_a_diagnosis_and_no_claim", SHADOW + "test_hit_names_the_function_and_its_line",
        SHADOW + "test_clean_run_with_a_witness_is_a_claim")),
    "7": Claim("numbers that leave the graph warn with their count and first line", (
        ESCAPES + "test_warning_stands_at_the_first_read_and_counts_them", ESCAPES + "test_every_way_to_make_a_number")),
    "8": Claim("nested captures and worker processes are refused, ranks are not; the outer capture stays whole", (
        PLACES + "test_trace_inside_a_forward_is_refused_and_the_outer_one_stays_whole",
        PLACES + "test_trace_inside_a_hook_is_refused", PLACES + "test_worker_process_of_a_loader_is_refused",
        ENTRY + "test_spawned_process_is_refused_unless_it_is_a_rank")),
    "9": Claim("fake, functional, meta, sparse and symbolic tensors are refused, every offender listed", (
        REFUSED + "test_in_the_inputs", REFUSED + "test_every_offender_is_listed_with_its_place",
        ENTRY + "test_tensor_of_a_symbolic_shape_is_refused")),
    "10": Claim("a scripted or traced function is one op with a warning; such models and exported programs are refused", (
        SCRIPTS + "test_scripted_function_is_one_op_with_a_warning_at_the_call_of_trace",
        ENTRY + "test_function_that_torch_jit_traced_is_one_op", REFUSALS + "test_torchscript_model",
        REFUSALS + "test_exported_program")),
    "11": Claim("a compiled model is traced as its source, with one note a process", (
        LATE + "test_compiled_model_is_noted_once_a_process", T + "test_untouched.py::test_compiled_model_still_runs_compiled",
        COMPILED + "test_compiled_function_runs_as_its_source")),
    "12": Claim("attention that would be fused is traced as its parts, with an advisory, and validates", (
        LATE + "test_fused_attention_is_held_off_and_the_trace_says_so",)),
    "13": Claim("lazy modules built in forward register their parameters; one that never ran cannot be validated", (
        LATE + "TestLazy", ENTRY + "test_lazy_modules_validate_once_they_have_run_or_are_built_inside")),
    "14": Claim("assigning to the data of a buffer raises", (REFUSALS + "test_assignment_to_the_data_of_a_buffer",)),
    "15": Claim("structure without values", reason=ABSENT + " as structure_only"),
    "16": Claim("a model on meta is refused", (REFUSED + "test_a_model_on_meta_alone",),
                ABSENT + " as structure_only, under which such models would be taken"),
    "17": Claim("payloads by view change, copies do not, references refuse to be read after a write", (
        T + "test_payload_reference.py::test_view_shows_later_writes",
        T + "test_payload_reference.py::test_copy_does_not_show_them",
        T + "test_payload_reference.py::test_reference_written_in_place_refuses_to_be_read")),
    "18": Claim("a budget for saved values", reason=ABSENT + " as save_budget"),
    "19": Claim("peak memory of the host", reason=ABSENT + " as measure_host_peak_memory"),
    "20": Claim("memory that attached payloads pin", (T + "test_modes.py::test_detached_payloads_keep_no_graph",),
                "there is no figure for what attached payloads keep alive"),
    "21": Claim("a dropped trace is freed at once", (T + "test_failures.py::test_a_dropped_trace_is_freed_at_once",
        T + "test_odd_models.py::test_a_long_chain_of_gradients_is_freed_without_overflowing_the_stack")),
    "22": Claim("the ATen profile refuses by default, matches what is dispatched, and has the values of the ops", (
        PROFILE + "test_default_trace_refuses_instead_of_answering_with_nothing",
        PROFILE + "test_loaded_trace_has_the_profile_that_was_saved_or_refuses",
        PROFILE + "test_rows_are_what_torch_says_it_dispatches",
        PROFILE + "test_values_are_detached_and_equal_to_those_of_the_op",
        PROFILE + "test_validation_holds_the_values_of_the_profile_against_those_of_the_ops"),
        "payloads cannot be streamed during a run"),
    "23": Claim("bundles that can run", (C + "bundle/test_refusals.py::test_unknown_levels",),
                "no level of bundles runs"),
    "24": Claim("a bundle with arguments validates where it is loaded; lower levels and foreign functions refuse", (
        LOADED + "test_ten_networks", LOADED + "test_lower_levels", LOADED + "test_a_run_that_kept_no_arguments",
        LOADED + "test_a_foreign_function")),
    "25": Claim("runs of a bundle that diverge", reason="no level of bundles runs"),
    "26": Claim("random numbers of the host in runs of a bundle", reason="no level of bundles runs"),
    "27": Claim("fast runs of a bundle", reason="no level of bundles runs"),
    "28": Claim("passes that cannot be checked are not validated", (
        VALIDATE + "test_no_finite_output", VALIDATE + "test_no_finite_value_in_the_middle",
        VALIDATE + "test_gradients_of_zero", VALIDATE + "test_a_parent_without_effect")),
    "29": Claim("tensors from nowhere and writes that an operator hides fail validation", (
        VALIDATE + "test_a_tensor_from_nowhere", VALIDATE + "test_a_custom_operator_that_writes_what_it_does_not_return",
        ROUTES + "test_custom_operator_that_hides_its_write_is_found_at_the_next_read")),
    "30": Claim("a tensor in a cell, default or global is a constant with its value; one that is made is none", (
        SOURCES + "test_closure_constant", SOURCES + "test_default_argument_constant", SOURCES + "test_module_global_constant",
        SOURCES + "test_constants_follow_the_choice_of_what_is_saved", SOURCES + "test_a_tensor_made_while_running_is_no_constant")),
    "30b": Claim("a custom operator is one op of its own name, and its declared write is seen", (
        VALIDATE + "test_a_custom_operator_is_one_op",
        ROUTES + "test_custom_operator_that_declares_its_write_is_one_op_and_a_writer")),
    "31": Claim("direct operator calls validate; functions that pybind alone binds do not", (
        VALIDATE + "test_passes", EXTENSION + "test_operator_that_the_extension_registers_is_one_op",
        EXTENSION + "test_function_that_pybind_alone_binds_is_a_source_that_nobody_knows")),
    "32": Claim("a gradient in forward validates, a gradient of a gradient does not", (
        VALIDATE + "test_passes", VALIDATE + "test_a_gradient_of_a_gradient")),
    "33": Claim("repeated calls are passes, and can be told apart", (
        C + "derive/test_grouping.py::test_a_loop_without_modules_folds",
        C + "derive/test_grouping.py::test_recurrence_off_gives_one_layer_a_call_with_parameters_too")),
    "34": Claim("collectives between ranks", reason="traces of several ranks are not joined"),
    "35": Claim("backends of other frameworks", reason="torch is the only backend"),
    "36": Claim("a backend that claims what it lacks", reason="torch is the only backend"),
    "37": Claim("drawings collapse under a budget and say so, and keep paths of the machine out of sight", (
        V + "test_draw.py::test_a_budget_gives_the_coarsest_picture_and_says_why",
        V + "test_draw.py::test_under_a_budget_very_large_networks_have_no_plan",
        V + "test_plan.py::test_counts_add_up_to_the_totals", V + "test_panel.py::test_hovering_shows_the_base_name")),
    "38": Claim("the doctor's rows and its Markdown", (
        ROWS + "test_an_ordinary_model_has_none_of_the_subjects_and_is_taken",
        D + "test_report.py::test_markdown_has_every_row_and_keeps_its_columns",
        M + "test_doctor_command.py::test_the_namespace_has_the_doctor")),
    "39": Claim("the first NaN, dead units and input shapes; the first two on any backend", (
        T + "test_health.py::test_the_first_nan_with_its_module_and_line", T + "test_health.py::test_dead_channels",
        T + "test_health.py::test_input_shapes", C + "health/test_health_core.py::test_the_first_nan",
        C + "health/test_health_core.py::test_dead_units")),
    "40": Claim("a model can be pickled after a trace", (
        SHADOW + "test_model_that_holds_functions_pickles_after_a_trace",
        T + "test_untouched.py::test_the_model_can_be_pickled_and_copied_afterwards")),
}  # fmt: skip
"""The cases that every release has to get right."""

ROUTES_OF_CALLS = (
    Claim("a reference taken before the trace is seen, in one forward, payloads streamed or not", (
        HELD + "test_function_is_seen_wherever_it_is_held", T + "test_untouched.py::test_only_one_forward_runs")),
    Claim("work on another thread is a gap", (ROUTES + "test_tensor_from_a_route_that_no_seam_shows",
        ROUTES + "test_thread_that_stays_trips_the_wire")),
    Claim("a handler of a tensor class is part of its op; a mode that keeps calls to itself leaves a gap", (
        READS + "test_handler_of_a_tensor_class_is_part_of_the_op",
        READS + "test_mode_that_keeps_calls_to_itself_leaves_a_tensor_without_a_source")),
    Claim("constructors that no protocol shows are gaps, new objects for known memory are not", (
        ROUTES + "test_tensor_from_a_route_that_no_seam_shows", ROUTES + "test_another_object_for_known_memory_is_what_it_was")),
    Claim("the shadow detector alone proves nothing", (SHADOW + "test_clean_run_is_a_diagnosis_and_no_claim",)),
    Claim("a transform is one op, and one made of transforms is not verified", (TRANSFORMS + "test_transform_is_one_op",
        TRANSFORMS + "test_compound_transforms_stay_connected_and_say_that_they_are_not_verified")),
    Claim("compiled functions run as their source, operators that need the compiler are one op", (
        COMPILED + "test_compiled_function_runs_as_its_source",
        COMPILED + "test_the_compiler_is_held_off_where_the_forward_is_what_loads_it",
        HIGHER + "test_cond_as_the_first_thing_that_is_ever_compiled",
        HIGHER + "test_operator_that_the_user_keeps_from_the_compiler")),
    Claim("partials and recursion do not mislead the shadow detector", (
        HELD + "test_shadow_detector_is_content_with_partials_and_recursion",)),
    Claim("gradients of the second order and of dependent inputs do not validate", (
        VALIDATE + "test_a_gradient_of_a_gradient",)),
    Claim("functions that pybind alone binds are gaps, registered operators are ops", (
        EXTENSION + "test_function_that_pybind_alone_binds_is_a_source_that_nobody_knows",
        EXTENSION + "test_operator_that_the_extension_registers_is_one_op")),
    Claim("numbers that leave the graph warn", (ESCAPES + "test_warning_stands_at_the_first_read_and_counts_them",)),
    Claim("hooks that write unseen are noticed, those registered in other ways too", (
        READS + "test_hook_that_writes_unseen_is_noticed", READS + "test_hook_that_writes_through_data_is_seen")),
    Claim("a dispatcher that hides a write on purpose", reason="nothing that watches dispatches can see it"),
    Claim("operators that write what they do not return fail validation", (
        VALIDATE + "test_a_custom_operator_that_writes_what_it_does_not_return",)),
    Claim("a value without a source is a gap even where it is only read", (
        READS + "test_value_that_is_only_read_still_has_no_source",)),
    Claim("what the model holds where it cannot be read is named", (
        LATE + "test_tensor_where_the_scan_was_cut_is_a_gap_of_its_own",
        LATE + "test_global_that_cannot_be_read_is_a_row_with_what_it_said")),
    Claim("values read through private names of torch or through printed text", reason="no seam shows them"),
)  # fmt: skip
"""How calls reach torch, row by row."""

ENTRIES = (
    Claim("a trace inside a trace is refused", (PLACES + "test_trace_inside_a_hook_is_refused",
        PLACES + "test_trace_inside_a_forward_is_refused_and_the_outer_one_stays_whole",
        PLACES + "test_trace_inside_a_predicate_is_refused")),
    Claim("a worker process is refused, a rank is not", (PLACES + "test_worker_process_of_a_loader_is_refused",
        ENTRY + "test_spawned_process_is_refused_unless_it_is_a_rank")),
    Claim("tensors without ordinary memory are refused", (REFUSED + "test_in_the_inputs",
        REFUSED + "test_in_parameters_and_buffers")),
    Claim("scripted, traced and exported models are refused", (REFUSALS + "test_torchscript_model",
        REFUSALS + "test_exported_program")),
    Claim("scripted functions are one op, and writers among them a gap", (
        SCRIPTS + "test_replay_calls_the_function_again", SCRIPTS + "test_scripted_writer_is_a_gap_and_an_advisory")),
    Claim("compiled models are traced as their source", (LATE + "test_compiled_model_is_noted_once_a_process",)),
    Claim("CUDA graphs are not verified", (ENTRY + "test_run_inside_the_capture_of_a_graph_is_not_verified",
        ROWS + "test_a_forward_that_replays_a_graph"), "a real graph needs a GPU; the tests stand in for one"),
    Claim("packed weights are not tested", (ROWS + "test_kinds_of_weights",
        ROWS + "test_modules_of_libraries_by_their_class"), "real packed weights need a GPU; the tests stand in for them"),
    Claim("attention that would be fused is traced as its parts", (
        LATE + "test_fused_attention_is_held_off_and_the_trace_says_so",
        LATE + "test_frozen_parameters_are_fused_with_gradients_on_as_well")),
    Claim("lazy modules built in forward are registered", (LATE + "TestLazy",
        LATE + "test_parameter_made_of_a_value_is_that_value")),
    Claim("serving engines are out of scope", (ROWS + "test_modules_of_libraries_by_their_class",)),
    Claim("models on other machines", reason="a trace is of a forward in its own process, and there is nothing to try"),
    Claim("wrappers of data parallelism are looked through", (
        T + "test_modules.py::test_wrapper_of_data_parallelism_is_looked_through",
        SPREAD + "test_wrapper_of_distributed_data_parallelism_is_looked_through")),
    Claim("tensor classes of the user see what they would see", (
        T + "test_observers.py::test_subclass_of_the_user_sees_the_models_calls_only",)),
    Claim("nests deeper than Python recurses raise and leave nothing behind", (
        ENTRY + "test_nest_deeper_than_python_recurses_raises_and_leaves_nothing_behind",)),
    Claim("assigning to the data of a buffer raises", (REFUSALS + "test_assignment_to_the_data_of_a_buffer",)),
    Claim("a lazy module that never ran cannot be validated", (VALIDATE + "test_a_lazy_module_that_was_never_called",)),
    Claim("state that is spread over ranks is refused, with what could not be looked into", (
        SPREAD + "test_parameter_that_is_a_dtensor", SPREAD + "test_sharded_tensor", SPREAD + "test_fsdp",
        SPREAD + "test_fully_shard", SPREAD + "test_tensor_parallel_styles", SPREAD + "test_pipeline_stage",
        SPREAD + "test_mesh_that_nothing_uses_is_for_information_only",
        SPREAD + "test_container_that_cannot_be_looked_into", SPREAD + "test_nest_that_is_too_deep")),
)  # fmt: skip
"""Where a capture may begin, row by row."""

NAMES = {
    # reasons of `capture_verification_reason`
    "provenance_complete": HELD + "test_function_is_seen_wherever_it_is_held",
    "dispatch_witness_verified": CENSUS + "test_seen_work_is_verified_by_the_witness",
    "unseen_source": ROUTES + "test_tensor_from_a_route_that_no_seam_shows",
    "unseen_write": ROUTES + "test_write_that_no_call_shows",
    "unaccounted_dispatch": CENSUS + "test_work_that_no_op_owns_is_counted_named_and_located",
    "owner_thread_tripwire_changed": ROUTES + "test_thread_that_stays_trips_the_wire",
    "shadow_diagnostic_mode": SHADOW + "test_clean_run_is_a_diagnosis_and_no_claim",
    "callable_escape_shadow_report": SHADOW + "test_hit_names_the_function_and_its_line",
    "transform_call_route_unverified": TRANSFORMS
    + "test_compound_transforms_stay_connected_and_say_that_they_are_not_verified",
    "dynamo_region_not_logged": HIGHER + "test_operator_that_the_user_keeps_from_the_compiler",
    "cuda_graph_capture": ENTRY + "test_run_inside_the_capture_of_a_graph_is_not_verified",
    "held_tensor_scan_truncated": LATE + "test_tensor_where_the_scan_was_cut_is_a_gap_of_its_own",
    "scripted_function_not_captured": SCRIPTS + "test_scripted_writer_is_a_gap_and_an_advisory",
    # kinds of advisories
    "fused_attention_fastpath_held_off": LATE + "test_fused_attention_is_held_off_and_the_trace_says_so",
    "parameter_created_in_forward": LATE + "TestLazy",
    "scalar_escape": ESCAPES + "test_warning_stands_at_the_first_read_and_counts_them",
    "torchscript_boundary": SCRIPTS + "test_scripted_function_is_one_op_with_a_warning_at_the_call_of_trace",
    "transform_boundary": TRANSFORMS + "test_transform_is_one_op",
    "higher_order_boundary": HIGHER + "test_cond_is_one_op_that_names_what_its_branches_read",
    # checks of a validation
    "argument_logging": CORE + "test_a_dropped_edge",
    "aten_values_consistent": PROFILE + "test_validation_holds_the_values_of_the_profile_against_those_of_the_ops",
    "bfs_completeness": VALIDATE + "test_several_operators_from_nowhere",
    "degenerate_forward": VALIDATE + "test_no_finite_output",
    "forward_replay": CORE + "test_an_old_value",
    "ground_truth": VALIDATE + "test_a_model_that_is_not_the_same_twice",
    "ground_truth_missing_out": CORE + "test_an_output_whose_value_was_not_saved",
    "metadata_invariant": CORE + "test_a_value_of_another_shape",
    "perturbation": VALIDATE + "test_a_parent_without_effect",
    "precondition_refusal": VALIDATE + "test_an_argument_that_is_not_kept",
    "source_provenance": VALIDATE + "test_a_tensor_from_nowhere",
    # particulars of a failure
    "unrecorded_operator_mutation": VALIDATE + "test_a_custom_operator_that_writes_what_it_does_not_return",
    "backward_graph_invariants": VALIDATE + "test_a_gradient_of_a_gradient",
    "non_finite_output": VALIDATE + "test_no_finite_output",
    "zero_gradient": VALIDATE + "test_gradients_of_zero",
    "final_outputs": VALIDATE + "test_no_finite_output",
    "loaded_trace_runtime_capture_stripped": VALIDATE + "test_a_loaded_trace_refuses",
    # refusals and their findings
    "aten_ops_unavailable": PROFILE + "test_default_trace_refuses_instead_of_answering_with_nothing",
    "unsupported_tensor_variant": REFUSED + "test_in_the_inputs",
    "reentrant_trace": PLACES + "test_trace_inside_a_forward_is_refused_and_the_outer_one_stays_whole",
    "worker_process": PLACES + "test_worker_process_of_a_loader_is_refused",
    "distributed_state_unsupported": SPREAD + "test_parameter_that_is_a_dtensor",
    "dtensor": SPREAD + "test_parameter_that_is_a_dtensor",
    "fsdp": SPREAD + "test_fsdp",
    "tensor_parallel": SPREAD + "test_tensor_parallel_styles",
    "pipeline_parallel": SPREAD + "test_pipeline_stage",
    "scan_incomplete": SPREAD + "test_container_that_cannot_be_looked_into",
    # rows of the doctor
    "cuda_graphs": ROWS + "test_a_forward_that_replays_a_graph",
    "gptq_awq_quantized": ROWS + "test_kinds_of_weights",
    "serving_engine": ROWS + "test_modules_of_libraries_by_their_class",
    "backend_scorecard": D + "test_scorecard.py::test_durable_and_nothing_failed_is_a_pass",
}
"""Names that a user can meet, each with the test that meets it."""

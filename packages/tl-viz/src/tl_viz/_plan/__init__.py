"""The planner: which modules of a network are drawn open, closed, or folded."""

from tl_viz._plan.branch import CONTAINERS as CONTAINERS
from tl_viz._plan.branch import GROWING as GROWING
from tl_viz._plan.branch import NEVER_OPEN as NEVER_OPEN
from tl_viz._plan.branch import Branch as Branch
from tl_viz._plan.branch import Tree as Tree
from tl_viz._plan.budget import COLLAPSE_OPTIMIZER_MAX_OPS as COLLAPSE_OPTIMIZER_MAX_OPS
from tl_viz._plan.budget import Verdict as Verdict
from tl_viz._plan.budget import judge as judge
from tl_viz._plan.chain import SMALL as SMALL
from tl_viz._plan.chain import SPLICED as SPLICED
from tl_viz._plan.fixed import SIZED as SIZED
from tl_viz._plan.like import Likeness as Likeness
from tl_viz._plan.like import find_likenesses as find_likenesses
from tl_viz._plan.plan import Collapse as Collapse
from tl_viz._plan.plan import Plan as Plan
from tl_viz._plan.plan import make_plan as make_plan
from tl_viz._plan.slider import parts as parts
from tl_viz._plan.typical import is_first_unlike as is_first_unlike
from tl_viz._plan.worth import VIEWS as VIEWS

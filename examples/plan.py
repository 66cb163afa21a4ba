"""Plan with the packaged simulator and act in the true one: K imagined futures of any policy, the best carried out.

python examples/plan.py --futures 16 --plans 6
"""

import argparse

import simforcing_env  # noqa: F401 (registers the ids)
from simforcing_env.evaluation.loading import open_simulator
from simforcing_env.planning.model_world import imagination
from simforcing_env.planning.planning_policy import PlanningConfig, PlanningPolicy
from simforcing_env.planning.proposals import Repeated
from simforcing_env.planning.scoring import ScoreConfig
from simforcing_env.planning.search import SearchConfig
from simforcing_env.planning.values import make_value
from simforcing_env.policies.registry import make_policy
from simforcing_env.teacher_env import TeacherVectorEnv


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--policy", default="random:horizon=12", help="such as diffusion:FOLDER or pusht:tries=8")
    parser.add_argument("--planner", default="icem", help="rank, cem, icem, mppi or gradient")
    parser.add_argument("--futures", type=int, default=16, help="candidates of a plan and round")
    parser.add_argument("--plans", type=int, default=6, help="plans that are made and carried out")
    parser.add_argument("--start", default="near-800018", help="where the episode begins")
    args = parser.parse_args()

    simulator = open_simulator("pusht-nano")
    policy = make_policy(args.policy, simulator.contract)
    # Where things will be is foreseen without drawing a frame; a future is as good as its key points are near the goal.
    score = ScoreConfig(length=policy.horizon, continuations=0)
    search = SearchConfig(count=args.futures, spread=0.1)
    config = PlanningConfig(args.planner, execute=policy.horizon, score=score, search=search)
    proposer = Repeated(policy, simulator.contract, args.futures)
    planner = PlanningPolicy(proposer, imagination(simulator, pictures=False), make_value("points"), config)

    env = TeacherVectorEnv(1, teacher="pusht", chunk=policy.horizon, success_threshold=1.0)
    observation, infos = env.reset(seed=0, options={"start": [args.start]})
    planner.reset([0])
    for number in range(args.plans):
        plan = planner.plan(observation)
        expected = float(plan.scores.value[0, plan.chosen[0]])
        observation, *_, infos = env.step(plan.actions[:, : policy.horizon])
        print(
            f"plan {number}: {plan.candidates.shape[1]} futures, {-expected:.1f} px from the goal expected, "
            f"IoU {float(infos['iou'][0]):.3f}, {1000 * planner.seconds[-1]:.0f} ms"
        )


if __name__ == "__main__":
    main()

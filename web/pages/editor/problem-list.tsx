import type { JSX } from "react";
import type { FlowProblem } from "../../api/flows.ts";
import { Icon } from "../../parts/icons.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { useEditor } from "./editor-context.ts";
import { pathBelowNode } from "./marks.ts";

/** All problems of the flow, errors first; each leads to its node and field. */
export function ProblemList(): JSX.Element {
  const { problems, check } = useEditor();
  if (check.failure && problems.length === 0) return <Failure fault={check.failure} />;
  if (check.scope === null && problems.length === 0) return <Loading what="the problems" rows={3} />;
  if (problems.length === 0) return <Empty title="No problems">The flow can be published.</Empty>;
  const inOrder = problems.toSorted((one, other) => rank(one) - rank(other));
  return (
    <>
      {check.failure && <Failure fault={check.failure} />}
      <ul className="problem-list" aria-label="Problems">
        {inOrder.map((problem, index) => (
          <li key={`${problem.code} ${problem.path.join("/")} ${index}`}>
            <Problem problem={problem} />
          </li>
        ))}
      </ul>
    </>
  );
}

const rank = ({ severity }: FlowProblem): number => (severity === "error" ? 0 : 1);

function Problem({ problem }: { readonly problem: FlowProblem }): JSX.Element {
  const { state, goTo } = useEditor();
  const { severity, message, hint, node_path, path } = problem;
  const texts = (
    <>
      <span className={`tone-${severity === "error" ? "bad" : "warn"} problem-mark`}>
        <Icon name="warning" />
        <span className="visually-hidden">{severity === "error" ? "Error: " : "Warning: "}</span>
      </span>
      <span className="problem-texts">
        <span className="wrap">{message}</span>
        {hint !== null && <span className="small muted wrap">{hint}</span>}
        <code className="small muted wrap">{node_path ?? (path.length === 0 ? "flow" : path.join("."))}</code>
      </span>
    </>
  );
  if (node_path === null) return <div className="problem">{texts}</div>;
  return (
    <button
      type="button"
      className="problem"
      data-row
      onClick={() => goTo(node_path, pathBelowNode(state.document, problem))}
    >
      {texts}
    </button>
  );
}

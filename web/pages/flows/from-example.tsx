import { useQuery } from "@tanstack/react-query";
import { useId, type JSX } from "react";
import { toProblem } from "../../api/problem.ts";
import { FlowPicture } from "../../parts/graph/flow-picture.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { shapeOf } from "./flow-shape.ts";
import { useKindGroups } from "./kind-groups.ts";

/** The examples, each with its picture. */
export function FromExample({ onChoose }: { readonly onChoose: (text: string) => void }): JSX.Element {
  const group = useId();
  const groups = useKindGroups();
  const { data, error } = useQuery({
    queryKey: ["examples", "list"],
    staleTime: Number.POSITIVE_INFINITY,
    queryFn: async () => (await import("./examples.ts")).exampleFlows,
  });
  if (error) return <Failure fault={toProblem(error)} />;
  if (!data) return <Loading what="examples" />;
  return (
    <fieldset className="example-list">
      <legend>Examples</legend>
      {data.map((flow) => {
        const shape = shapeOf(flow);
        return (
          <label key={flow.name} className="example">
            <span className="example-picture" aria-hidden="true">
              <FlowPicture {...shape} groups={groups} label="" />
            </span>
            <span className="example-name">
              <input type="radio" name={group} onChange={() => onChoose(JSON.stringify(flow))} />
              <strong className="wrap">{flow.name}</strong>
            </span>
            <span className="small muted">{flow.description}</span>
          </label>
        );
      })}
    </fieldset>
  );
}

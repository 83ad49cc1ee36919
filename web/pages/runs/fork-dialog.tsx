import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { useNavigate } from "react-router";
import { useIntent } from "../../api/intent.ts";
import { versionsOptions } from "../../api/projects.ts";
import { flowOptions, resumeRun, useRunAction, type NodeRun, type Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyCurl } from "../../parts/copy.tsx";
import { curlOfCall } from "../../parts/curl.ts";
import { Dialog } from "../../parts/dialog.tsx";
import { Field } from "../../parts/field.tsx";
import { Failure } from "../../parts/states.tsx";
import { InputsForm, called, useEditedInputs } from "./inputs-form.tsx";
import { flowShape, type FlowShape } from "./flow-shape.ts";

const FAILED = "failed" as const;
/** Nodes named before "and N more". */
const NAMED = 12;

/** Resumes from a node as a new run: from which node, with which version and inputs, and what is reused. */
export function ForkDialog({
  run,
  nodes,
  from,
  onClose,
}: {
  readonly run: Run;
  readonly nodes: readonly NodeRun[];
  /** The top-level node to resume from; null means the nodes that had not finished. */
  readonly from: string | null;
  readonly onClose: () => void;
}): JSX.Element {
  const intent = useIntent();
  const resume = useRunAction(resumeRun);
  const navigate = useNavigate();
  const [version, setVersion] = useState(run.flow_version);
  const { data: definition } = useQuery(flowOptions(run.project_id, version));
  const flow = flowShape(definition?.flow);
  const mayContinue = run.state !== "COMPLETED";
  const [point, setPoint] = useState(from ?? FAILED);
  const inputs = useEditedInputs(run, version);
  const isKnown = point === FAILED || flow.nodes.some(({ id }) => id === point);
  const { changed } = inputs;
  const body = {
    ...(point === FAILED ? { from: FAILED } : { from_node: point }),
    ...(version !== run.flow_version && { flow_version: version }),
    ...(changed !== null && Object.keys(changed).length > 0 && { inputs: changed }),
  };
  return (
    <Dialog title="Resume from a node" onClose={onClose}>
      <form
        className="stack"
        onSubmit={(event) => {
          event.preventDefault();
          if (changed === null) return;
          resume.mutate(
            { run_id: run.run_id, intent, ...body },
            {
              onSuccess(made) {
                onClose();
                void navigate(links.run(made.run_id));
              },
            },
          );
        }}
      >
        <p>
          Starts a new run that reuses the results before the chosen node and executes the rest. This run does not
          change.
        </p>
        <Field label="Resume from">
          {(control) => (
            <select className="input" value={point} onChange={(event) => setPoint(event.target.value)} {...control}>
              {mayContinue && <option value={FAILED}>Unfinished nodes</option>}
              {!isKnown && <option value={point}>{point} (not in this version)</option>}
              {flow.nodes.map(({ id, name }) => (
                <option key={id} value={id}>
                  {called(id, name)}
                </option>
              ))}
            </select>
          )}
        </Field>
        <VersionField run={run} value={version} onChange={setVersion} />
        {flow.nodes.length > 0 && (
          <Plan flow={flow} nodes={nodes} point={point} replaced={Object.keys(changed ?? {})} />
        )}
        <InputsForm inputs={inputs} />
        {resume.error && <Failure fault={resume.error} />}
        <div className="row">
          <button
            type="submit"
            className="button button-primary"
            disabled={resume.isPending || changed === null || !isKnown}
          >
            Resume
          </button>
          <button type="button" className="button" onClick={onClose}>
            Cancel
          </button>
          <CopyCurl command={curlOfCall("POST", `/v2/runs/${run.run_id}/resume`, body)} />
        </div>
      </form>
    </Dialog>
  );
}

/** Chooses the version: the run's own, the newest, or any other. */
export function VersionField({
  run,
  value,
  onChange,
}: {
  readonly run: Run;
  readonly value: number;
  readonly onChange: (version: number) => void;
}): JSX.Element {
  const { data } = useQuery(versionsOptions(run.project_id));
  const listed = data?.data ?? [];
  const numbers = [...new Set([run.flow_version, value, ...listed.map(({ version }) => version)])];
  const newest = Math.max(...numbers);
  const published = listed.find((each) => each.published)?.version;
  const wordsOf = (version: number): string =>
    [
      String(version),
      ...(version === run.flow_version ? ["used by this run"] : []),
      ...(version === published ? ["published"] : []),
      ...(version === newest && newest !== run.flow_version ? ["newest"] : []),
    ].join(", ");
  return (
    <Field label="Flow version">
      {(control) => (
        <select className="input" value={value} onChange={(event) => onChange(Number(event.target.value))} {...control}>
          {numbers
            .toSorted((a, b) => b - a)
            .map((version) => (
              <option key={version} value={version}>
                {wordsOf(version)}
              </option>
            ))}
        </select>
      )}
    </Field>
  );
}

/** Shows which nodes would run and which would be reused. */
function Plan({
  flow,
  nodes,
  point,
  replaced,
}: {
  readonly flow: FlowShape;
  readonly nodes: readonly NodeRun[];
  readonly point: string;
  readonly replaced: readonly string[];
}): JSX.Element {
  const calledHere = calledIn(flow);
  const kept = reusedNodes(flow, nodes, point, replaced);
  const again = flow.nodes.filter(({ id }) => !kept.has(id)).map(({ id }) => id);
  const stale = replaced.filter((id) => flow.edges.some(({ source, target }) => source === id && kept.has(target)));
  return (
    <div className="stack-tight small">
      <p>
        <strong>Will run:</strong> {listed(again.map(calledHere))}
      </p>
      <p>
        <strong>Reused:</strong> {listed([...kept].map(calledHere))}
      </p>
      {stale.length > 0 && (
        <p className="notice notice-warn">
          Some reused nodes read the old value of {stale.map(calledHere).join(", ")} and keep results based on it. To
          recompute them, resume from an earlier node.
        </p>
      )}
    </div>
  );
}

/** Returns the display text of a node: its name, with the ID in brackets. */
function calledIn({ nodes }: FlowShape): (id: string) => string {
  const names = new Map(nodes.map(({ id, name }) => [id, name]));
  return (id) => called(id, names.get(id));
}

function listed(nodes: readonly string[]): string {
  if (nodes.length === 0) return "none";
  const more = nodes.length - NAMED;
  return nodes.slice(0, NAMED).join(", ") + (more > 0 ? ` and ${more.toLocaleString()} more` : "");
}

/** Applies the rule of the API: all finished nodes are reused except the chosen node, the nodes after it, and changed inputs. */
function reusedNodes(
  flow: FlowShape,
  nodes: readonly NodeRun[],
  point: string,
  replaced: readonly string[],
): ReadonlySet<string> {
  const again = new Set(replaced);
  const reached = point === FAILED ? [] : [point];
  const seen = new Set<string>();
  for (let id = reached.pop(); id !== undefined; id = reached.pop()) {
    if (seen.has(id)) continue;
    seen.add(id);
    again.add(id);
    for (const { source, target } of flow.edges) if (source === id) reached.push(target);
  }
  const ended = new Set(
    nodes
      .filter(({ state, path, node_id }) => path === node_id && (state === "COMPLETED" || state === "SKIPPED"))
      .map(({ path }) => path),
  );
  return new Set(flow.nodes.map(({ id }) => id).filter((id) => ended.has(id) && !again.has(id)));
}

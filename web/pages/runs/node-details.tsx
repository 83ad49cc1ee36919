import { keepPreviousData, useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { Link } from "react-router";
import { useMay } from "../../api/accounts.ts";
import { useWritten, type LiveTexts } from "../../api/live-texts.ts";
import { isTerminal, nodeOptions, type NodeDetail, type NodeRun, type Run } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Icon } from "../../parts/icons.tsx";
import { Failure, Loading, Notice } from "../../parts/states.tsx";
import { Value } from "../../parts/value.tsx";
import { curlOfNode, curlOfRequest } from "./curl.ts";
import { ForkDialog } from "./fork-dialog.tsx";
import { Inside } from "./item-details.tsx";
import { Attempts, NodeFacts } from "./node-facts.tsx";
import { Citations } from "./node-citations.tsx";
import { labelOf, LongValue } from "./long-value.tsx";
import { Conversation, Messages, messagesOf } from "./node-conversation.tsx";
import { Hint } from "./run-summary.tsx";
import type { NodeValue } from "../../api/node-values.ts";
import type { TreeNode } from "./node-tree.ts";
import { nameAt, type FlowShape } from "./flow-shape.ts";
import { useNodeNames } from "./node-names.tsx";

/** In these states, null means that nothing is recorded yet. */
const OPEN_STATES: readonly string[] = ["PENDING", "RUNNING", "RETRYING", "PAUSED"];
const NOT_YET: Readonly<Record<NodeValue, string>> = {
  inputs: "No inputs recorded yet.",
  output: "No output yet.",
};

/** One node of a run: inputs, output, error, model calls, and the text that a model is writing. */
export function NodeDetails({
  run,
  nodes,
  path,
  node,
  planned,
  texts,
  onSelect,
  onOpen,
}: {
  readonly run: Run;
  readonly nodes: readonly NodeRun[];
  readonly path: string;
  readonly node: TreeNode | undefined;
  readonly planned: FlowShape["nodes"][number] | undefined;
  readonly texts: LiveTexts;
  readonly onSelect: (path: string | null) => void;
  readonly onOpen: (path: string) => void;
}): JSX.Element {
  const record = node?.run;
  return (
    <div className="stack">
      <div className="spread">
        <h2 className="wrap">{node?.label ?? planned?.name ?? path}</h2>
        <button type="button" className="button button-quiet button-small" onClick={() => onSelect(null)}>
          <Icon name="cross" /> Back to run
        </button>
      </div>
      {node && record ? (
        <>
          <Origin run={run} node={record} />
          <div className="row">
            {record.child_run_id !== null && (
              <button type="button" className="button" onClick={() => onOpen(path)}>
                <Icon name="open" /> Open subflow
              </button>
            )}
            <ResumeFromHere run={run} nodes={nodes} node={record} />
            <CopyButton text={curlOfNode(run.run_id, path)} label="curl command that reads this node">
              Copy as curl
            </CopyButton>
          </div>
          <NodeFacts node={record} />
          <Fault node={record} />
          <Attempts log={record.attempt_log} />
          <Written texts={texts} path={path} />
          <Recorded run={run} node={node} record={record} onSelect={onSelect} onOpen={onOpen} />
        </>
      ) : (
        <p className="muted">Type: {planned?.type}. The run has not reached this node.</p>
      )}
    </div>
  );
}

/** The recorded values of a node; they are not part of the run and are loaded when it is opened. */
function Recorded({
  run,
  node,
  record,
  onSelect,
  onOpen,
}: {
  readonly run: Run;
  readonly node: TreeNode;
  readonly record: NodeRun;
  readonly onSelect: (path: string | null) => void;
  readonly onOpen: (path: string) => void;
}): JSX.Element {
  const { data, error, refetch } = useQuery({
    ...nodeOptions(run.run_id, record.path),
    placeholderData: keepPreviousData,
  });
  if (error) return <Failure fault={error} retry={() => void refetch()} />;
  if (data === undefined || data.path !== record.path) return <Loading what="the node" rows={4} />;
  const items = node.children.filter(({ index }) => index !== null);
  const isConversation = node.children.length > items.length;
  return (
    <>
      {isConversation && (
        <Conversation runId={run.run_id} parts={node.children} calls={data.model_calls} onOpen={onOpen} />
      )}
      {items.length > 0 && (
        <>
          <h3>Items</h3>
          <Inside nodes={items} onSelect={onSelect} />
        </>
      )}
      <Values runId={run.run_id} data={data} />
      <Citations citations={data.citations} />
    </>
  );
}

function Values({ runId, data }: { readonly runId: string; readonly data: NodeDetail }): JSX.Element {
  const messages = messagesOf(data.inputs);
  const request = data.type === "http" ? curlOfRequest(data.inputs) : null;
  return (
    <>
      {messages && (
        <>
          <h3>Messages</h3>
          <Messages messages={messages} />
        </>
      )}
      <div className="spread">
        <h3>Inputs</h3>
        {request !== null && (
          <CopyButton text={request} label="HTTP request of this node as curl">
            Copy HTTP request as curl
          </CopyButton>
        )}
      </div>
      <AnyLength runId={runId} data={data} member="inputs" />
      <h3>Output</h3>
      {data.truncated && !data.long_values.includes("output") && (
        <p className="small muted">
          Only the beginning of this value is stored with the run. The run's outputs are complete.
        </p>
      )}
      <AnyLength runId={runId} data={data} member="output" />
    </>
  );
}

function AnyLength({
  runId,
  data,
  member,
}: {
  readonly runId: string;
  readonly data: NodeDetail;
  readonly member: NodeValue;
}): JSX.Element {
  if (!data.long_values.includes(member)) {
    const isOpen = OPEN_STATES.includes(data.state);
    if (data[member] === null && isOpen) return <p className="muted">{NOT_YET[member]}</p>;
    return <Value value={data[member]} label={labelOf(data, member)} />;
  }
  // The key makes the value of another attempt start at its first page.
  return <LongValue key={`${data.path} ${data.attempts}`} runId={runId} node={data} member={member} />;
}

function Fault({ node: { error, state } }: { readonly node: NodeRun }): JSX.Element | null {
  if (!error) return null;
  return (
    <Notice tone={state === "RETRYING" ? "warn" : "bad"}>
      <span className="wrap">
        <strong>{error.code}</strong> {error.message}
        {error.retryable ? " This error may be temporary. A retry can succeed." : ""}
        <Hint text={error.hint} />
      </span>
    </Notice>
  );
}

function Written({ texts, path }: { readonly texts: LiveTexts; readonly path: string }): JSX.Element | null {
  const written = useWritten(texts, path);
  if (written === undefined) return null;
  return (
    <>
      <h3>Streaming output</h3>
      <p className="written value-box" aria-live="off">
        {written}
      </p>
    </>
  );
}

/** Links a reused node to the run that executed it. */
function Origin({ run, node }: { readonly run: Run; readonly node: NodeRun }): JSX.Element | null {
  if (!node.reused || run.resumed_from === null) return null;
  return (
    <Notice tone="info">
      <span>
        Reused from an <Link to={links.run(run.resumed_from.run_id, { node: node.path })}>earlier run</Link>; not
        executed in this one.
      </span>
    </Notice>
  );
}

/** Button that resumes a finished run from this node. */
function ResumeFromHere({
  run,
  nodes,
  node,
}: {
  readonly run: Run;
  readonly nodes: readonly NodeRun[];
  readonly node: NodeRun;
}): JSX.Element | null {
  const may = useMay("editor", run.project_id);
  const [open, setOpen] = useState(false);
  const names = useNodeNames(run);
  if (!may || !isTerminal(run.state) || node.state === "SKIPPED") return null;
  const top = node.path.replace(/[[/].*$/s, "");
  return (
    <>
      <button type="button" className="button" onClick={() => setOpen(true)}>
        <Icon name="fork" /> Resume from {top === node.path ? "this node" : (nameAt(names, top) ?? top)}…
      </button>
      {open && <ForkDialog run={run} nodes={nodes} from={top} onClose={() => setOpen(false)} />}
    </>
  );
}

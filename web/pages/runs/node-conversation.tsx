import { useQuery } from "@tanstack/react-query";
import { useState, type JSX } from "react";
import { nodeOptions, type NodeDetail } from "../../api/runs.ts";
import { Icon } from "../../parts/icons.tsx";
import { Status } from "../../parts/status.tsx";
import { Elapsed, duration } from "../../parts/time.tsx";
import { Value } from "../../parts/value.tsx";
import { dollars } from "./node-facts.tsx";
import type { TreeNode } from "./node-tree.ts";

type ModelCall = NodeDetail["model_calls"][number];

/** Steps that are open from the start; others are loaded when they are opened. */
const OPEN = 6;

/** What a model with tools wrote at each step, and the results of its tool calls, in order of time. */
export function Conversation({
  runId,
  parts,
  calls,
  onOpen,
}: {
  readonly runId: string;
  readonly parts: readonly TreeNode[];
  readonly calls: readonly ModelCall[];
  readonly onOpen: (path: string) => void;
}): JSX.Element {
  return (
    <>
      <h3>Conversation</h3>
      <ol className="conversation" aria-label="Conversation">
        {parts.map((part, index) => (
          <li key={part.path}>
            <Part runId={runId} part={part} calls={calls} isOpen={index < OPEN} onOpen={onOpen} />
          </li>
        ))}
      </ol>
    </>
  );
}

function Part({
  runId,
  part,
  calls,
  isOpen,
  onOpen,
}: {
  readonly runId: string;
  readonly part: TreeNode;
  readonly calls: readonly ModelCall[];
  readonly isOpen: boolean;
  readonly onOpen: (path: string) => void;
}): JSX.Element {
  const [open, setOpen] = useState(isOpen);
  const { data } = useQuery({ ...nodeOptions(runId, part.path), enabled: open });
  const step = stepOf(part.path);
  const call = step === null ? undefined : calls.findLast((each) => each.step === step);
  const tool = toolOf(data?.inputs);
  const title = step === null ? `Tool call: ${tool?.name ?? part.label}` : `Step ${step}`;
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{title}</strong> {part.run && <Status state={part.run.state} />}{" "}
        <span className="small muted">
          {call ? (
            <CallFacts call={call} />
          ) : (
            part.run && <Elapsed from={part.run.started_at} to={part.run.finished_at} />
          )}
          {part.run?.reused === true && " · reused"}
        </span>
      </summary>
      {open && data && (
        <div className="stack-tight conversation-body">
          {data.error && (
            <p className="wrap">
              <code>{data.error.code}</code> {data.error.message}
            </p>
          )}
          {step === null ? <ToolCall data={data} /> : <Said data={data} />}
          {data.child_run_id !== null && (
            <button type="button" className="button button-small" onClick={() => onOpen(part.path)}>
              <Icon name="open" /> Open subflow
            </button>
          )}
        </div>
      )}
    </details>
  );
}

/** Model, tokens, cost and duration of a call. */
function CallFacts({ call }: { readonly call: ModelCall }): JSX.Element {
  const facts = [
    call.model,
    `${call.input_tokens.toLocaleString()} input, ${call.output_tokens.toLocaleString()} output tokens${call.estimated ? " (estimated)" : ""}`,
    ...(call.cost_usd === null ? [] : [dollars(call.cost_usd)]),
    duration(call.latency_ms),
    call.finish_reason,
  ];
  return <>{facts.join(" · ")}</>;
}

function ToolCall({ data }: { readonly data: NodeDetail }): JSX.Element {
  const tool = toolOf(data.inputs);
  return (
    <>
      <span className="small muted">Arguments</span>
      <Value value={tool ? (tool.edited ?? tool.arguments) : data.inputs} label={`Arguments of ${data.path}`} />
      {tool?.edited !== undefined && <span className="small muted">Edited by a person before the call.</span>}
      <span className="small muted">Result</span>
      <Value value={data.output} label={`Result of ${data.path}`} />
    </>
  );
}

/** The instructions of the model, its answers and its tool calls. */
function Said({ data }: { readonly data: NodeDetail }): JSX.Element {
  const messages = messagesOf(data.inputs);
  const { text, tool_calls } = (data.output ?? {}) as { text?: unknown; tool_calls?: unknown };
  const wanted = Array.isArray(tool_calls) ? (tool_calls as ReadonlyArray<{ name?: unknown }>) : [];
  return (
    <>
      {messages && <Messages messages={messages} />}
      {typeof text === "string" && text !== "" ? (
        <Value value={text} label={`Text of ${data.path}`} />
      ) : (
        wanted.length === 0 && <Value value={data.output} label={`Output of ${data.path}`} />
      )}
      {wanted.length > 0 && (
        <p className="small">
          Requested tools: {wanted.map(({ name }) => (typeof name === "string" ? name : "?")).join(", ")}
        </p>
      )}
    </>
  );
}

export interface Message {
  readonly role: string;
  readonly content: unknown;
}

/** The messages in the inputs of a model call; null if there are none. */
export function messagesOf(inputs: unknown): Message[] | null {
  const { messages } = (inputs ?? {}) as { messages?: unknown };
  if (!Array.isArray(messages)) return null;
  const read = messages.filter(
    (each): each is Message => typeof each === "object" && each !== null && typeof (each as Message).role === "string",
  );
  return read.length === 0 ? null : read;
}

export function Messages({ messages }: { readonly messages: readonly Message[] }): JSX.Element {
  return (
    <ol className="stack-tight">
      {messages.map(({ role, content }, index) => (
        <li key={index} className="message">
          <span className="small muted">{role}</span>
          <Value value={content} label={`Message ${index + 1}, ${role}`} />
        </li>
      ))}
    </ol>
  );
}

function stepOf(path: string): number | null {
  const found = /\/steps\[(\d+)\]$/.exec(path);
  return found ? Number(found[1]) + 1 : null;
}

function toolOf(
  inputs: unknown,
): { readonly name: string; readonly arguments: unknown; readonly edited?: unknown } | null {
  const { tool, arguments: given, edited } = (inputs ?? {}) as Record<string, unknown>;
  return typeof tool === "string" ? { name: tool, arguments: given, ...(edited !== undefined && { edited }) } : null;
}

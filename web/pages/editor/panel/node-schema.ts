import type { NodeKind } from "../../../api/flows.ts";
import type { FlowNode } from "../../../flow/document.ts";

const MS_PER_SECOND = 1000;
const inSeconds = (ms: number): string => `${(ms / MS_PER_SECOND).toLocaleString()} s`;

/** The settings that every node has besides its configuration, with the defaults of its type. */
export function nodeSchema(kind: NodeKind, node: FlowNode): object {
  const { retry, timeout_ms } = kind;
  const isInput = kind.input;
  return {
    type: "object",
    properties: {
      retry: {
        type: "object",
        title: "Retries",
        description:
          retry.max_attempts === 1
            ? "By default a failed attempt is not retried"
            : `By default ${retry.max_attempts} attempts, the second after ${inSeconds(retry.initial_interval_ms)}`,
        properties: {
          max_attempts: {
            type: "integer",
            title: "Attempts",
            description: "1 never retries",
            default: retry.max_attempts,
          },
          initial_interval_ms: { type: "integer", title: "First wait (ms)", default: retry.initial_interval_ms },
          backoff: {
            type: "number",
            title: "Backoff",
            description: "Factor by which the wait grows after each attempt",
            default: retry.backoff,
          },
          max_interval_ms: { type: "integer", title: "Longest wait (ms)", default: retry.max_interval_ms },
        },
      },
      timeout_ms: {
        type: "integer",
        title: "Time-out (ms)",
        description:
          timeout_ms === null
            ? "Time limit of one attempt. By default only the time limit of the run applies"
            : `Time limit of one attempt. By default ${inSeconds(timeout_ms)}`,
        ...(timeout_ms !== null && { default: timeout_ms }),
      },
      on_error: {
        title: "On error",
        description:
          "`fail` fails the run; `continue` uses the default output; `branch` follows the handle `error` of the node",
        enum: ["fail", "continue", "branch"],
        default: "fail",
      },
      ...(node.on_error === "continue" && {
        default_output: { title: "Default output", description: "Value of the node if it fails" },
      }),
      ...(!isInput && {
        skip_if: {
          type: "string",
          title: "Skip if",
          description: "The node is skipped if this condition is true. By default it is never skipped",
          "x-language": "cel",
        },
      }),
    },
  };
}

import type { JSX } from "react";
import type { Json } from "../../../flow/document.ts";
import { Failure, Notice } from "../../../parts/states.tsx";
import { useEditor } from "../editor-context.ts";
import type { Refusal } from "./request.ts";

/** Why a try did not start, and what to do. */
export function Refused({ refusal }: { readonly refusal: Refusal }): JSX.Element {
  const { openPanel, setPins } = useEditor();
  const { problem, inputs, isOfFlow, isOfPins } = refusal;
  if (isOfFlow)
    return (
      <Notice tone="bad">
        <span>The flow has errors, so it was not run.</span>
        <button type="button" className="button button-small" onClick={() => openPanel("problems")}>
          Show problems
        </button>
      </Notice>
    );
  if (isOfPins)
    return (
      <Notice tone="bad">
        <span className="wrap">
          {problem.status === 404
            ? "The run that a pinned value was copied from no longer exists. Unpin the values and run the nodes instead."
            : `A pinned value cannot be used: ${problem.message}`}
        </span>
        <button type="button" className="button button-small" onClick={() => setPins(new Map<string, Json>())}>
          Unpin all
        </button>
      </Notice>
    );
  if (inputs.size > 0) return <Notice tone="bad">Correct the marked inputs. Nothing was run.</Notice>;
  return <Failure fault={problem} />;
}

import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { pauseOptions } from "../api/pauses.ts";
import { toProblem } from "../api/problem.ts";
import { Markdown } from "../parts/markdown/markdown.tsx";
import { Failure, Loading } from "../parts/states.tsx";
import { Value } from "../parts/value.tsx";
import { Asked, Decision, Outcome } from "./pause-decision.tsx";

/** An approval of a run, which is decided where the run is shown. */
export function PauseHere({ pauseId }: { readonly pauseId: string }): JSX.Element {
  const { data: pause, error, refetch } = useQuery(pauseOptions(pauseId));
  if (!pause)
    return error ? (
      <Failure fault={toProblem(error)} retry={() => void refetch()} />
    ) : (
      <Loading what="the approval" rows={3} />
    );
  return (
    <article className="panel stack" aria-label={`Approval ${pause.path}`}>
      <Markdown text={pause.message} hasTitle />
      {pause.data != null && <Value value={pause.data} label="Approval data" />}
      <Asked pause={pause} />
      {pause.status === "waiting" ? (
        <Decision pause={pause} onGone={() => void refetch()} />
      ) : (
        <Outcome pause={pause} />
      )}
    </article>
  );
}

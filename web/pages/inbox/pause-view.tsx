import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link } from "react-router";
import { usePauseEvents } from "../../api/pause-events.ts";
import { pauseOptions } from "../../api/pauses.ts";
import { links } from "../../links.ts";
import { CopyButton, shortId } from "../../parts/copy.tsx";
import { Fetched } from "../../parts/list/fetched.tsx";
import { Markdown } from "../../parts/markdown/markdown.tsx";
import { NodeName } from "../../parts/node-name.tsx";
import { Empty } from "../../parts/states.tsx";
import { Status } from "../../parts/status.tsx";
import { Time } from "../../parts/time.tsx";
import { Value } from "../../parts/value.tsx";
import { Asked, Decision, Outcome } from "../pause-decision.tsx";

/** One approval: the question, its context, and the decision. */
export function PauseView({ pauseId }: { readonly pauseId: string }): JSX.Element {
  const query = useQuery(pauseOptions(pauseId));
  const { data: pause } = query;
  usePauseEvents(pause);
  if (pause === undefined)
    return (
      <Fetched
        query={query}
        what="the approval"
        missing={
          <Empty title="Approval not found" action={<Link to={links.inbox()}>Inbox</Link>}>
            The run may have been deleted, or it belongs to another organisation.
          </Empty>
        }
      />
    );
  return (
    <article className="panel stack">
      <div className="spread">
        <Status state={pause.status} />
        <div className="row">
          <Link to={links.run(pause.run_id, { node: pause.path })}>Run {shortId(pause.run_id)}</Link>
          <CopyButton text={location.href} label="link to this approval">
            Copy link
          </CopyButton>
        </div>
      </div>
      <Markdown text={pause.message} hasTitle />
      <p className="muted">
        Requested <Time at={pause.created_at} /> at <NodeName name={pause.node_name} path={pause.path} />
        {pause.expires_at !== null && pause.status === "waiting" && (
          <>
            {" "}
            · expires <Time at={pause.expires_at} isPlanned />
          </>
        )}
      </p>
      {pause.data != null && <Value value={pause.data} label="Approval data" />}
      <Asked pause={pause} />
      {pause.status === "waiting" ? (
        <Decision pause={pause} onGone={() => void query.refetch()} />
      ) : (
        <Outcome pause={pause} />
      )}
    </article>
  );
}

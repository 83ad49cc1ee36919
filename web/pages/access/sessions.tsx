import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { endSession, sessionsOptions, useAccountChange } from "../../api/accounts.ts";
import { toProblem } from "../../api/problem.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Email } from "../../parts/email.tsx";
import { Failure, Loading } from "../../parts/states.tsx";
import { Table } from "../../parts/table.tsx";
import { Time } from "../../parts/time.tsx";

/** Where people are signed in; one's own session is ended by signing out. */
export function Sessions(): JSX.Element {
  const { data, error, isPending, refetch } = useQuery(sessionsOptions);
  const end = useAccountChange("sessions", endSession);
  if (isPending) return <Loading what="sessions" />;
  if (data === undefined) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  return (
    <>
      {end.error && <Failure fault={toProblem(end.error)} />}
      <Table
        caption="Sessions"
        rows={data.data}
        keyOf={(session) => session.session_id}
        columns={[
          {
            id: "who",
            head: "User",
            cell: (session) => (
              <Email address={session.email}>
                {" "}
                <CopyButton text={session.session_id} label={`id of a session of ${session.email}`} />
              </Email>
            ),
          },
          {
            id: "browser",
            head: "Browser",
            wideOnly: true,
            cell: (session) => <span title={session.user_agent}>{browserOf(session.user_agent)}</span>,
          },
          { id: "address", head: "Address", wideOnly: true, cell: (session) => session.address },
          { id: "opened", head: "Signed in", wideOnly: true, cell: (session) => <Time at={session.created_at} /> },
          {
            id: "way",
            head: "By",
            wideOnly: true,
            cell: ({ provider_id, kind }) => provider_id ?? (kind === "token" ? "client" : "password or link"),
          },
          { id: "seen", head: "Last seen", cell: (session) => <Time at={session.last_seen_at} /> },
          {
            id: "actions",
            head: "Actions",
            cell: (session) =>
              session.current ? (
                <span className="muted">This one</span>
              ) : (
                <button
                  type="button"
                  className="button button-small"
                  data-row
                  disabled={end.isPending}
                  onClick={() => end.mutate(session.session_id)}
                >
                  End
                </button>
              ),
          },
        ]}
      />
    </>
  );
}

const BROWSERS = ["Edg", "Firefox", "Chrome", "Safari"];
const SYSTEMS = ["Windows", "Android", "iPhone", "iPad", "Mac OS", "Linux"];

/** Enough to recognise one's own; the whole text is on hover. */
function browserOf(agent: string): string {
  const browser = BROWSERS.find((each) => agent.includes(each))?.replace("Edg", "Edge");
  const system = SYSTEMS.find((each) => agent.includes(each));
  return [browser, system].filter((each) => each !== undefined).join(", ") || agent.slice(0, 40) || "-";
}

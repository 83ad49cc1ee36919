import { useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { useAccountChange } from "../../api/accounts.ts";
import { endSession, sessionsOptions } from "../../api/users.ts";
import { CopyButton } from "../../parts/copy.tsx";
import { Email } from "../../parts/email.tsx";
import { List } from "../../parts/list/list.tsx";
import { useListOrder } from "../list-order.ts";
import { Failure } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";

/** Sessions of users. The current session ends by signing out, so it has no button here. */
export function Sessions(): JSX.Element {
  const order = useListOrder("opened");
  const list = useQuery(sessionsOptions(order.value));
  const end = useAccountChange("sessions", endSession);
  return (
    <>
      {end.error && <Failure fault={end.error} />}
      <List
        query={list}
        order={order}
        items="sessions"
        caption="Sessions"
        empty={{ title: "No sessions", text: "A session starts when someone signs in." }}
        keyOf={(session) => session.session_id}
        columns={[
          {
            id: "who",
            head: "User",
            cell: (session) => (
              <Email address={session.email}>
                {" "}
                <CopyButton text={session.session_id} label={`ID of a session of ${session.email}`} />
              </Email>
            ),
          },
          {
            id: "browser",
            head: "Browser",
            wideOnly: true,
            cell: (session) => <span title={session.user_agent}>{browserOf(session.user_agent)}</span>,
          },
          { id: "address", head: "IP address", wideOnly: true, cell: (session) => session.address },
          { id: "opened", head: "Signed in", wideOnly: true, cell: (session) => <Time at={session.created_at} /> },
          {
            id: "way",
            head: "Signed in with",
            wideOnly: true,
            cell: ({ provider_id, kind }) => provider_id ?? (kind === "token" ? "access token" : "password or link"),
          },
          { id: "seen", head: "Last seen", cell: (session) => <Time at={session.last_seen_at} /> },
          {
            id: "actions",
            head: "Actions",
            cell: (session) =>
              session.current ? (
                <span className="muted">This session</span>
              ) : (
                <button
                  type="button"
                  className="button button-small"
                  data-row
                  disabled={end.isPending}
                  onClick={() => end.mutate(session.session_id)}
                >
                  End session
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

/** The part of the user agent that identifies the browser; hovering shows all of it. */
function browserOf(agent: string): string {
  const browser = BROWSERS.find((each) => agent.includes(each))?.replace("Edg", "Edge");
  const system = SYSTEMS.find((each) => agent.includes(each));
  return [browser, system].filter((each) => each !== undefined).join(", ") || agent.slice(0, 40) || "-";
}

import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, NavLink, useNavigate, useParams, useSearchParams } from "react-router";
import { useMayAnywhere, useMe } from "../../api/accounts.ts";
import { SHOWN, shownPausesOptions, type Shown } from "../../api/pauses.ts";
import { projectsOptions } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { MarkdownLine } from "../../parts/markdown/markdown.tsx";
import { HeldChanges, useHeldList } from "../../parts/list-changes.tsx";
import { Rows, type FirstUse } from "../../parts/list/rows.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Time } from "../../parts/time.tsx";
import { PauseView } from "./pause-view.tsx";
import "./inbox.css";

const NAMES: Readonly<Record<Shown, string>> = {
  mine: "Assigned to me",
  answerable: "I can decide",
  all: "All",
};
const NONE: FirstUse = {
  title: "No approvals waiting",
  text: "When a run reaches an approval, it appears here until someone decides.",
};

/** Approvals that wait for a person, oldest first, beside the one being decided; each has its own URL. */
export function InboxPage(): JSX.Element {
  const { pauseId } = useParams();
  const [search] = useSearchParams();
  const mayDecide = useMayAnywhere("editor");
  // Viewers may not decide, so they see all approvals by default.
  const asked = search.get("show") ?? (mayDecide ? "answerable" : "all");
  const shown = SHOWN.find((each) => each === asked) ?? "all";
  const list = useInfiniteQuery(shownPausesOptions(shown));
  const { data, isPlaceholderData } = list;
  const navigate = useNavigate();
  const { data: projects } = useQuery(projectsOptions);
  const me = useMe();
  const nameOf = (id: string): string => projects?.data.find(({ project_id }) => project_id === id)?.name ?? "";
  // Paging or opening another approval is a user action, so the list is refreshed then.
  const name = `${shown} ${data?.pages ?? 0} ${pauseId ?? ""}`;
  const held = useHeldList(name, isPlaceholderData ? undefined : data?.data, ({ pause_id }) => pause_id);
  return (
    <>
      <PageHead about="Approvals that wait for a person, oldest first." />
      <Tabs
        label="Filter"
        tabs={SHOWN}
        chosen={shown}
        link={(each, current) => (
          <Link to={pauseId === undefined ? links.inbox(each) : links.pause(pauseId, each)} aria-current={current}>
            {NAMES[each]}
          </Link>
        )}
      />
      <div className={`inbox ${pauseId !== undefined ? "inbox-chosen" : held.shown.length === 0 ? "inbox-none" : ""}`}>
        <nav className="inbox-list stack-tight" aria-label="Waiting approvals" data-list>
          <div className="list-line">
            <HeldChanges newer={held.newer} gone={held.gone} onShow={held.takeIn} />
            <span className="small muted">
              {(data?.data.length ?? 0).toLocaleString()}
              {data?.has_more === true && "+"} waiting
            </span>
          </div>
          <Rows
            query={{ ...list, data: isPlaceholderData || !data ? undefined : { data: held.shown } }}
            items="approvals"
            empty={NONE}
            onClear={
              search.has("show") && shown !== "all"
                ? () => void navigate(pauseId === undefined ? links.inbox("all") : links.pause(pauseId, "all"))
                : undefined
            }
          >
            {(pauses) => (
              <ul className="panel panel-flush">
                {pauses.map(({ row: pause, isGone }) => (
                  <li key={pause.pause_id} className={isGone ? "inbox-gone" : undefined}>
                    <NavLink to={links.pause(pause.pause_id, search.get("show") ?? undefined)} data-row>
                      <span className="inbox-message">
                        <MarkdownLine text={pause.message} />
                      </span>
                      <span className="spread small muted">
                        <span className="wrap">{isGone ? "Closed" : nameOf(pause.project_id)}</span>
                        <Time at={pause.created_at} />
                      </span>
                      {!pause.may_answer && pause.assignees !== null && (
                        <span className="small muted">
                          {pause.received.some(({ by }) => by === `user:${me.id}`)
                            ? "You decided"
                            : "Assigned to others"}
                        </span>
                      )}
                    </NavLink>
                  </li>
                ))}
              </ul>
            )}
          </Rows>
        </nav>
        {pauseId !== undefined && <PauseView key={pauseId} pauseId={pauseId} />}
        {pauseId === undefined && held.shown.length > 0 && (
          <Empty title="Select an approval">The message, the data and the possible decisions appear here.</Empty>
        )}
      </div>
    </>
  );
}

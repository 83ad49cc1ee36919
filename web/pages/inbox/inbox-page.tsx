import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import type { JSX } from "react";
import { Link, NavLink, useParams, useSearchParams } from "react-router";
import { useMayAnywhere, useMe } from "../../api/accounts.ts";
import { SHOWN, shownPausesOptions } from "../../api/pauses.ts";
import type { Shown } from "../../api/pauses.ts";
import { toProblem } from "../../api/problem.ts";
import { projectsOptions } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { MarkdownLine } from "../../parts/markdown/markdown.tsx";
import { HeldChanges, useHeldList } from "../../parts/list-changes.tsx";
import { MoreButton } from "../../parts/more-button.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { Time } from "../../parts/time.tsx";
import { PauseView } from "./pause-view.tsx";
import "./inbox.css";

const NAMES: Readonly<Record<Shown, string>> = {
  mine: "Assigned to me",
  answerable: "I may answer",
  all: "All",
};
const NOTHING: Readonly<Record<Shown, string>> = {
  mine: "Nothing open names you or your role.",
  answerable: "What others are to answer, or you have answered, is under All.",
  all: "Runs that come to an approval are listed here, oldest first, until somebody has decided.",
};

/** What waits for a person, oldest first; beside it the one that is being decided. Each has an address of its own. */
export function InboxPage(): JSX.Element {
  const { pauseId } = useParams();
  const [search] = useSearchParams();
  const mayDecide = useMayAnywhere("editor");
  // A viewer answers nothing.
  const asked = search.get("show") ?? (mayDecide ? "answerable" : "all");
  const shown = SHOWN.find((each) => each === asked) ?? "all";
  const list = useInfiniteQuery(shownPausesOptions(shown));
  const { data, error, isPending, isPlaceholderData, refetch } = list;
  const { data: projects } = useQuery(projectsOptions);
  const me = useMe();
  const nameOf = (id: string): string => projects?.data.find(({ project_id }) => project_id === id)?.name ?? "";
  // Another page of the list, and another pause, are its reader's doing: then it is as it is now.
  const name = `${shown} ${data?.pages ?? 0} ${pauseId ?? ""}`;
  const held = useHeldList(name, isPlaceholderData ? undefined : data?.data, ({ pause_id }) => pause_id);
  const pauses = isPlaceholderData ? (data?.data ?? []).map((row) => ({ row, isGone: false })) : held.shown;
  return (
    <>
      <PageHead title="Inbox" />
      <Tabs
        label="Which pauses"
        tabs={SHOWN}
        chosen={shown}
        link={(each, current) => (
          <Link to={pauseId === undefined ? links.inbox(each) : links.pause(pauseId, each)} aria-current={current}>
            {NAMES[each]}
          </Link>
        )}
      />
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      {isPending && pauseId === undefined && <Loading what="the inbox" />}
      {data && pauses.length === 0 && pauseId === undefined && (
        <Empty title="Nothing waits for a decision">{NOTHING[shown]}</Empty>
      )}
      {(pauses.length > 0 || pauseId !== undefined) && (
        <div className={`inbox ${pauseId === undefined ? "" : "inbox-chosen"}`}>
          <nav className="panel panel-flush inbox-list" aria-label="Open pauses" data-list>
            <div className="list-line">
              <HeldChanges newer={held.newer} gone={held.gone} onShow={held.takeIn} />
              <span className="small muted">
                {(data?.data.length ?? 0).toLocaleString()}
                {data?.has_more === true && "+"} open
              </span>
            </div>
            {isPending || isPlaceholderData ? (
              <Loading what="the inbox" />
            ) : pauses.length === 0 ? (
              <p className="panel muted">Nothing else waits.</p>
            ) : (
              <ul>
                {pauses.map(({ row: pause, isGone }) => (
                  <li key={pause.pause_id} className={isGone ? "inbox-gone" : undefined}>
                    <NavLink to={links.pause(pause.pause_id, search.get("show") ?? undefined)} data-row>
                      <span className="inbox-message">
                        <MarkdownLine text={pause.message} />
                      </span>
                      <span className="spread small muted">
                        <span className="wrap">{isGone ? "Waits no more" : nameOf(pause.project_id)}</span>
                        <Time at={pause.created_at} />
                      </span>
                      {!pause.may_answer && pause.assignees !== null && (
                        <span className="small muted">
                          {pause.received.some(({ by }) => by === `user:${me.id}`)
                            ? "You have answered"
                            : "Others are asked"}
                        </span>
                      )}
                    </NavLink>
                  </li>
                ))}
              </ul>
            )}
            {list.hasNextPage && (
              <MoreButton pages={list} className="inbox-more">
                Later ones
              </MoreButton>
            )}
          </nav>
          {pauseId === undefined ? (
            <Empty title="Choose one">Its message, its data and what can be decided are shown here.</Empty>
          ) : (
            <PauseView key={pauseId} pauseId={pauseId} />
          )}
        </div>
      )}
    </>
  );
}

import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo } from "react";
import type { JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useLiveRun } from "../../api/live.ts";
import type { LiveState } from "../../api/live.ts";
import { ApiProblem, toProblem } from "../../api/problem.ts";
import { isTerminal, projectsOptions, runOptions } from "../../api/runs.ts";
import type { RunWithNodes } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { PageHead } from "../../parts/page.tsx";
import { Empty, Failure, Loading } from "../../parts/states.tsx";
import { nameAt } from "./flow-shape.ts";
import { useNodeNames } from "./node-names.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunStage } from "./run-stage.tsx";
import type { Crumb } from "./run-stage.tsx";
import { Summary, Trouble } from "./run-summary.tsx";
import "./run.css";

const LIVE_WORDS: Readonly<Record<LiveState, string>> = { live: "Live", polling: "Asking every 2 s", ended: "" };

/** One run: its flow with the state of each node, when what happened, and what each node took and gave. */
export function RunPage(): JSX.Element {
  const { runId = "" } = useParams();
  const { data: run, error, isPending, refetch } = useQuery(runOptions(runId));
  if (isPending) return <Loading what="the run" rows={8} />;
  if (run === undefined) {
    if (error instanceof ApiProblem && (error.status === 404 || error.status === 422))
      return (
        <>
          <PageHead title="Run" />
          <Empty title="There is no such run" action={<Link to={links.runs()}>All runs</Link>}>
            It may have been removed after its time, or belong to another organisation.
          </Empty>
        </>
      );
    return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  }
  return (
    <>
      {error !== null && <Failure fault={toProblem(error)} retry={() => void refetch()} />}
      <LoadedRun key={run.run_id} run={run} />
    </>
  );
}

/** What is looked at: the sub-flows one is in, from the outermost, and a place in the run of the innermost. It is in the address. */
interface View {
  readonly via: readonly string[];
  readonly node: string | null;
  readonly show: (via: readonly string[], node: string | null) => void;
}

function useView(): View {
  const [search, setSearch] = useSearchParams();
  const key = JSON.stringify(search.getAll("via"));
  const via = useMemo(() => JSON.parse(key) as string[], [key]);
  const show = useCallback(
    (next: readonly string[], node: string | null) => {
      const address = new URLSearchParams();
      for (const each of next) address.append("via", each);
      if (node !== null) address.set("node", node);
      setSearch(address);
    },
    [setSearch],
  );
  return { via, node: search.get("node"), show };
}

function LoadedRun({ run }: { readonly run: RunWithNodes }): JSX.Element {
  const view = useView();
  const { data: projects } = useQuery(projectsOptions);
  const { state: live, texts } = useLiveRun(run.run_id, { ended: isTerminal(run.state), depth: 0 });
  const name = projects?.data.find(({ project_id }) => project_id === run.project_id)?.name ?? "Run";
  const nodes = run.nodes ?? [];
  return (
    <>
      <PageHead title={name}>
        {live !== "ended" && (
          <span className={`live ${live === "live" ? "live-on" : "live-off"}`}>{LIVE_WORDS[live]}</span>
        )}
        <RunActions run={run} nodes={nodes} />
      </PageHead>
      <Summary run={run} />
      <Trouble run={run} onSelect={(path) => view.show([], path)} />
      <Within run={run} texts={texts} view={view} crumbs={[{ label: name, via: [] }]} />
    </>
  );
}

/** A run, or the sub-flow of it that is looked at. */
function Within({
  run,
  texts,
  view,
  crumbs,
}: {
  readonly run: RunWithNodes;
  readonly texts: Parameters<typeof RunStage>[0]["texts"];
  readonly view: View;
  readonly crumbs: readonly Crumb[];
}): JSX.Element {
  const depth = crumbs.length - 1;
  const { via, node, show } = view;
  const select = useCallback((path: string | null) => show(via, path), [show, via]);
  const enter = useCallback((path: string) => show([...via, path], null), [show, via]);
  const at = via[depth];
  const names = useNodeNames(run);
  if (at === undefined)
    return (
      <RunStage
        key={run.run_id}
        run={run}
        texts={texts}
        selected={node}
        crumbs={crumbs}
        onSelect={select}
        onEnter={enter}
        onLeave={show}
      />
    );
  const child = run.nodes?.find(({ path }) => path === at)?.child_run_id;
  const next = [...crumbs, { label: nameAt(names, at) ?? at, via: via.slice(0, depth + 1) }];
  if (child == null)
    return (
      <Empty title="There is no sub-flow here yet" action={<Link to={links.run(run.run_id)}>The whole run</Link>}>
        {at} has not started a run of its own.
      </Empty>
    );
  return <Child runId={child} view={view} crumbs={next} />;
}

function Child({
  runId,
  view,
  crumbs,
}: {
  readonly runId: string;
  readonly view: View;
  readonly crumbs: readonly Crumb[];
}): JSX.Element {
  const { data: run, error, refetch } = useQuery(runOptions(runId));
  const { texts } = useLiveRun(runId, {
    ended: run === undefined || isTerminal(run.state),
    depth: crumbs.length - 1,
  });
  if (run) return <Within run={run} texts={texts} view={view} crumbs={crumbs} />;
  if (error) return <Failure fault={toProblem(error)} retry={() => void refetch()} />;
  return <Loading what="the sub-flow" rows={8} />;
}

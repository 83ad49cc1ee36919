import { useQuery } from "@tanstack/react-query";
import { useCallback, useMemo, type JSX } from "react";
import { Link, useParams, useSearchParams } from "react-router";
import { useLiveRun, type LiveState } from "../../api/live.ts";
import { isTerminal, projectsOptions, runOptions, type RunWithNodes } from "../../api/runs.ts";
import { links } from "../../links.ts";
import { Fetched } from "../../parts/list/fetched.tsx";
import { PageHead } from "../../parts/page.tsx";
import { Empty } from "../../parts/states.tsx";
import { nameAt } from "./flow-shape.ts";
import { useNodeNames } from "./node-names.tsx";
import { RunActions } from "./run-actions.tsx";
import { RunStage, type Crumb } from "./run-stage.tsx";
import { Summary, Trouble } from "./run-summary.tsx";
import "./run.css";

const LIVE_WORDS: Readonly<Record<LiveState, string>> = { live: "Live", polling: "Refreshing every 2 s", ended: "" };

/** One run: its flow with the state of each node, a timeline, and the inputs and outputs of each node. */
export function RunPage(): JSX.Element {
  const { runId = "" } = useParams();
  return (
    <Fetched
      query={useQuery(runOptions(runId))}
      what="the run"
      rows={8}
      missing={
        <>
          <PageHead />
          <Empty title="Run not found" action={<Link to={links.runs()}>All runs</Link>}>
            It may have been deleted by the retention policy, or it belongs to another organisation.
          </Empty>
        </>
      }
    >
      {(run) => <LoadedRun key={run.run_id} run={run} />}
    </Fetched>
  );
}

/** The visible part, held in the URL: the open subflows, outermost first, and the selected node in the innermost run. */
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
      <PageHead title={name} about="Inputs, outputs and every node of this run.">
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

/** A run, or the open child run inside it. */
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
      <Empty title="Subflow not started" action={<Link to={links.run(run.run_id)}>Back to run</Link>}>
        {at} has not started its child run yet.
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
  const child = useQuery(runOptions(runId));
  const { data: run } = child;
  const { texts } = useLiveRun(runId, {
    ended: run === undefined || isTerminal(run.state),
    depth: crumbs.length - 1,
  });
  return (
    <Fetched query={child} what="the subflow" rows={8}>
      {(loaded) => <Within run={loaded} texts={texts} view={view} crumbs={crumbs} />}
    </Fetched>
  );
}

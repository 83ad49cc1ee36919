import { useQueryClient, type QueryClient } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { follow } from "./event-stream.ts";
import { LiveTexts, type Delta } from "./live-texts.ts";
import { NODE_EVENTS, afterEvents, type NodeEvent } from "./node-events.ts";
import { readRun, runOptions } from "./runs.ts";

/** How updates of a run arrive: by events, by polling if events are not available, or not at all because the run has finished. */
export type LiveState = "live" | "polling" | "ended";

/** Shortest time between two redraws: a map of a thousand items causes thousands of events. */
const DRAW_EVERY_MS = 400;
const POLL_MS = 2000;

/**
 * Follows a run by its events, which update its nodes and the texts that models are writing. A tab has one stream;
 * among a run and its open subflows, the innermost gets it, because that is the one shown.
 */
export function useLiveRun(
  runId: string,
  {
    ended,
    depth,
    keepsTexts = false,
  }: {
    readonly ended: boolean;
    readonly depth: number;
    /** Whether a complete text stays until the run ends, for readers of its outputs rather than of its nodes. */
    readonly keepsTexts?: boolean;
  },
): { readonly state: LiveState; readonly texts: LiveTexts } {
  const client = useQueryClient();
  const [connected, setConnected] = useState(true);
  const [texts] = useState(() => new LiveTexts());

  useEffect(() => {
    if (ended) return;
    const shown = followed(client, runId);
    let poll: ReturnType<typeof setInterval> | undefined;
    const leave = follow({
      url: `/v2/runs/${runId}`,
      rank: depth,
      onConnected(isConnected) {
        setConnected(isConnected);
        clearInterval(poll);
        // Reads what happened between the last poll and the first event.
        if (isConnected && poll !== undefined) shown.all();
        // A hidden tab does not poll.
        if (!isConnected) poll = setInterval(() => document.hidden || shown.all(), POLL_MS);
      },
      onEvent(type, text) {
        if (!NODE_EVENTS.some((each) => each === type)) {
          if (type !== "output.delta") return shown.all();
          return texts.take((JSON.parse(text) as { readonly data: Delta }).data);
        }
        const event = JSON.parse(text) as NodeEvent;
        if (event.type === "node.finished" && !keepsTexts) texts.forget(event.data.path);
        shown.event(event);
      },
    });
    return () => {
      leave();
      shown.stop();
      clearInterval(poll);
    };
  }, [client, runId, ended, depth, keepsTexts, texts]);

  return { state: ended ? "ended" : connected ? "live" : "polling", texts };
}

/** Applies events to the cached run, node by node; the whole run is read again only if that is necessary. */
function followed(client: QueryClient, runId: string) {
  const { queryKey } = runOptions(runId);
  let events: NodeEvent[] = [];
  let timer: ReturnType<typeof setTimeout> | undefined;
  let readAll = false;

  const draw = async (): Promise<void> => {
    const taken = events;
    events = [];
    const all = readAll;
    readAll = false;
    if (all) await client.refetchQueries({ queryKey, exact: true });
    const head = all || taken.length === 0 ? undefined : await readRun(runId).catch(() => undefined);
    // Events that arrived during the request are applied too, because the response may be older than they are.
    const known = [...taken, ...events];
    client.setQueryData(queryKey, (run) => run && { ...run, ...head, nodes: afterEvents(run.nodes ?? [], known) });
    const touched = new Set(known.map(({ data }) => data.path));
    await client.invalidateQueries({
      queryKey: ["nodes", "detail", runId],
      predicate: ({ queryKey: key }) => touched.has(String(key[3])),
    });
  };
  const drawSoon = (): void => {
    timer ??= setTimeout(() => {
      void draw().finally(() => {
        timer = undefined;
        if (events.length > 0 || readAll) drawSoon();
      });
    }, DRAW_EVERY_MS);
  };
  return {
    all: () => {
      readAll = true;
      drawSoon();
    },
    event: (event: NodeEvent) => {
      events.push(event);
      drawSoon();
    },
    stop: () => clearTimeout(timer),
  };
}

import { queryOptions } from "@tanstack/react-query";
import { api, unwrap } from "./client.ts";
import type { Schemas } from "./client.ts";

export type Pause = Schemas["ListedPause"];

/** What another person has decided goes from the inbox within this time. */
const POLL_MS = 1000;
const OPEN = { status: "waiting", order: "asc", page_size: 100 } as const;

/** Which open pauses are listed: pauses that name the person, pauses that the person may answer, or all. */
export const SHOWN = ["mine", "answerable", "all"] as const;
export type Shown = (typeof SHOWN)[number];
const FILTERS: Readonly<Record<Shown, object>> = {
  mine: { assignee: "me" },
  answerable: { may_answer: true },
  all: {},
};

/** Open pauses, oldest first. */
export const shownPausesOptions = (shown: Shown) => {
  const query = { ...OPEN, ...FILTERS[shown] };
  return queryOptions({
    queryKey: ["pauses", "list", query],
    queryFn: () => unwrap(api.GET("/v2/pauses", { params: { query } })),
    refetchInterval: 5000,
  });
};

export const pauseOptions = (pause_id: string) =>
  queryOptions({
    queryKey: ["pauses", "detail", pause_id],
    queryFn: () => unwrap(api.GET("/v2/pauses/{pause_id}", { params: { path: { pause_id } } })),
    refetchInterval: ({ state }) => (state.data?.status === "waiting" ? POLL_MS : false),
  });

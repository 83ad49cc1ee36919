import { infiniteQueryOptions, keepPreviousData, queryOptions } from "@tanstack/react-query";
import { api, unwrap, type Schemas } from "./client.ts";

export type Pause = Schemas["ListedPause"];

/** Only while the tab is visible; a hidden tab does not poll. */
const POLL_MS = 5000;
const OPEN = { status: "waiting", order: "asc", page_size: 100 } as const;

/** Filters of the open pauses: the ones that name the person, the ones that the person may decide, or all. */
export const SHOWN = ["mine", "answerable", "all"] as const;
export type Shown = (typeof SHOWN)[number];
const FILTERS: Readonly<Record<Shown, object>> = {
  mine: { assignee: "me" },
  answerable: { may_answer: true },
  all: {},
};

/** Open pauses, oldest first, page by page. */
export const shownPausesOptions = (shown: Shown) => {
  const query = { ...OPEN, ...FILTERS[shown] };
  return infiniteQueryOptions({
    queryKey: ["pauses", "list", query],
    initialPageParam: null as string | null,
    queryFn: ({ pageParam }) =>
      unwrap(
        api.GET("/v2/pauses", { params: { query: { ...query, ...(pageParam !== null && { cursor: pageParam }) } } }),
      ),
    getNextPageParam: (page) => (page.has_more ? page.cursor : null),
    select: ({ pages }) => ({
      data: pages.flatMap((page) => page.data),
      has_more: pages.at(-1)?.has_more ?? false,
      pages: pages.length,
    }),
    refetchInterval: POLL_MS,
    // Shows the previous filter's results until the new filter's are fetched.
    placeholderData: keepPreviousData,
  });
};

export const pauseOptions = (pause_id: string) =>
  queryOptions({
    queryKey: ["pauses", "detail", pause_id],
    queryFn: () => unwrap(api.GET("/v2/pauses/{pause_id}", { params: { path: { pause_id } } })),
    refetchInterval: ({ state }) => (state.data?.status === "waiting" ? POLL_MS : false),
  });

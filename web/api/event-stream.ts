import { NODE_EVENTS } from "./node-events.ts";

const EVENTS = ["run.state", "run.paused", "run.finished", "output.delta", ...NODE_EVENTS];

/** A subscriber to the event stream of a URL. */
export interface Follower {
  readonly url: string;
  /** With several subscribers, only the URL of the highest rank is followed; among equal ranks, the last one. */
  readonly rank: number;
  /** Called when events start or stop arriving. While they do not arrive, the subscriber has to poll. */
  readonly onConnected: (isConnected: boolean) => void;
  readonly onEvent: (type: string, text: string) => void;
}

/** Wait before the first retry after the API rejects the stream (ms); it doubles with each rejection. */
const FIRST_WAIT_MS = 1000;
const LONGEST_WAIT_MS = 60_000;

const followers = new Set<Follower>();
let stream: { readonly url: string; readonly source: EventSource } | undefined;
let refusals = 0;

/**
 * Follows the event stream of a URL until the returned function is called. All subscribers of a tab share one
 * connection, because a browser allows six per host over all tabs, and streams would leave none for requests.
 */
export function follow(follower: Follower): () => void {
  followers.add(follower);
  arrange();
  return () => {
    followers.delete(follower);
    arrange();
  };
}

function arrange(): void {
  const wanted = [...followers].reduce<Follower | undefined>(
    (best, each) => (best === undefined || each.rank >= best.rank ? each : best),
    undefined,
  );
  if (stream?.url !== wanted?.url) {
    stream?.source.close();
    stream = wanted && { url: wanted.url, source: open(wanted.url) };
    refusals = 0;
  }
  const isOpen = stream?.source.readyState === EventSource.OPEN;
  for (const each of followers) if (each.url !== stream?.url || isOpen) each.onConnected(each.url === stream?.url);
}

function open(url: string): EventSource {
  const source = new EventSource(url);
  const own = (): Follower[] => [...followers].filter((each) => each.url === url);
  source.addEventListener("open", () => {
    refusals = 0;
    for (const each of own()) each.onConnected(true);
  });
  source.addEventListener("error", () => {
    // Subscribers poll until events arrive again. The browser reconnects after a lost connection, but never after a rejected one.
    for (const each of own()) each.onConnected(false);
    if (source.readyState !== EventSource.CLOSED) return;
    setTimeout(
      () => {
        if (stream?.source === source) stream = { url, source: open(url) };
      },
      Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** refusals++),
    );
  });
  for (const type of EVENTS)
    source.addEventListener(type, ({ data }: MessageEvent) => {
      for (const each of own()) each.onEvent(type, String(data));
    });
  return source;
}

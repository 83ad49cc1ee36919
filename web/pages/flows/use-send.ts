import { useRef, useState } from "react";
import { sendRaw, type RawAnswer, type RawRequest } from "../../api/raw-request.ts";

export interface Sending {
  readonly answer: RawAnswer | null;
  readonly problem: string | null;
  readonly isPending: boolean;
  /** Sends requests one after the other, up to the first that fails, and shows the last response. */
  readonly send: (requests: readonly RawRequest[]) => void;
  readonly stop: () => void;
}

/** Sends requests as they are shown, and keeps the response while it arrives. */
export function useSend(): Sending {
  const [answer, setAnswer] = useState<RawAnswer | null>(null);
  const [problem, setProblem] = useState<string | null>(null);
  const [isPending, setPending] = useState(false);
  const latest = useRef<AbortController | null>(null);

  const all = async (requests: readonly RawRequest[]): Promise<void> => {
    latest.current?.abort();
    const controller = new AbortController();
    latest.current = controller;
    setPending(true);
    setAnswer(null);
    setProblem(null);
    let status = 0;
    const show = (next: RawAnswer): void => {
      status = next.status;
      setAnswer(next);
    };
    try {
      for (const request of requests) {
        await sendRaw(request, controller.signal, show);
        if (status >= 400) break;
      }
    } catch (error) {
      if (!controller.signal.aborted) setProblem(error instanceof Error ? error.message : String(error));
    }
    if (latest.current === controller) setPending(false);
  };
  return {
    answer,
    problem,
    isPending,
    send: (requests) => void all(requests),
    stop() {
      latest.current?.abort();
      setPending(false);
    },
  };
}

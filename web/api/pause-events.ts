import { useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { follow } from "./event-stream.ts";
import type { Pause } from "./pauses.ts";

/** Reads the pauses again at each event of an open pause's run, so that another person's decision appears immediately. */
export function usePauseEvents(pause: Pause | undefined): void {
  const client = useQueryClient();
  const [runId, since] = pause?.status === "waiting" ? [pause.run_id, Date.parse(pause.created_at)] : [null, 0];
  useEffect(() => {
    if (runId === null) return;
    return follow({
      url: `/v2/runs/${runId}`,
      rank: 0,
      onConnected: () => undefined,
      onEvent: (type, text) => {
        // The stream begins with earlier events.
        if (!type.startsWith("run.") || Date.parse((JSON.parse(text) as { readonly at: string }).at) <= since) return;
        // A page that the user is loading with "more" is not cancelled by this refetch.
        void client.invalidateQueries({ queryKey: ["pauses"] }, { cancelRefetch: false });
      },
    });
  }, [client, runId, since]);
}

import { continueAsNew, sleep } from "@temporalio/workflow";
import type { ErasureInput } from "../../src/domain/erasures/erasure.ts";
import { houseActivities } from "../activities.ts";
import { movesToNewBuilds } from "../moves-to-new-builds.ts";

/** Number of turns after which the workflow continues as new. */
const MAX_TURNS = 200;

/** Erases all data of a user, in turns with the other erasures of the installation. The row says where it is. */
export async function eraseUser(input: ErasureInput): Promise<void> {
  const { eraseForTurn } = houseActivities(input.activity_queue);
  for (let turn = 0; turn < MAX_TURNS; turn += 1) {
    const waitMs = await eraseForTurn({ erasure_id: input.erasure_id });
    if (waitMs === null) return;
    if (waitMs > 0) await sleep(waitMs);
  }
  await continueAsNew<typeof eraseUser>(input);
}

movesToNewBuilds(eraseUser);

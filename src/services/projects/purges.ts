import { purgeDraftSteps } from "../../stores/projects/drafts.ts";
import { purgeFrozenDrafts } from "../../stores/projects/flow-versions.ts";
import { purgeOf } from "../house/purge.ts";

export const projectPurges = [purgeOf("steps of drafts", purgeDraftSteps), purgeOf("frozen drafts", purgeFrozenDrafts)];

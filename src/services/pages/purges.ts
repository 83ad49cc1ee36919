import { VISITOR_DAYS } from "../../domain/pages/page.ts";
import { purgeVisitors } from "../../stores/pages/visitors.ts";
import { purgeOf } from "../house/purge.ts";

export const pagePurges = [purgeOf("visitors", (db, batch) => purgeVisitors(db, VISITOR_DAYS, batch))];

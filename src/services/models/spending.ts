import { setTimeout as sleep } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { admitCost, type Spending } from "../../domain/accounts/quotas.ts";
import { PRICE_WAY_OUT } from "../../domain/models/prices.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import { isConnectionError, type Database, type Db } from "../../stores/db.ts";
import { insertModelCall, type ModelCallRow } from "../../stores/models/model-calls.ts";
import { whileDatabaseIsAway } from "../../stores/patience.ts";
import { addToMonth, countMonth, holdMonths, lockMonth } from "../../stores/quotas/quotas.ts";
import {
  budgetsOf,
  deleteReservation,
  extendReservation,
  insertReservation,
  lockCosts,
  spendingLimits,
  type SpendingLimits,
} from "../../stores/models/spending.ts";

/** How long a reservation remains after its process last extended it. */
const RESERVED_SECONDS = 300;
const EXTENDED_EVERY_MS = 60_000;
/** First and longest interval at which a call that waits for others retries its reservation (ms). */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 2000;
/** Longest wait for an unreachable database to record a call that must be paid for (ms). */
const INSIST_MS = 600_000;

/** A call about to be made. */
export interface CostlyCall extends Pick<ModelCallRow, "org_id" | "run_id" | "path" | "model"> {
  /** The upper estimate of its cost (US dollars); null if the model has no price. */
  readonly amount: number | null;
  readonly signal: AbortSignal;
}

/** Stores a call's answer in the transaction that records the call. */
export type KeepAnswer = (db: Db) => Promise<void>;

/** An admitted call. Its caller must call either `record` or `release`. */
export interface AdmittedCall {
  readonly call_id: string;
  readonly key_id: string | null;
  /**
   * Replaces the reservation by a record of the call. Waits for an unreachable database. If the answer cannot be
   * stored, the call is recorded without it, and the error is thrown.
   */
  record(row: ModelCallRow, keep?: KeepAnswer): Promise<void>;
  /** Releases the reservation of a call that is not recorded. */
  release(): Promise<void>;
}

interface Limit {
  readonly key_id: string | null;
  readonly most: number;
}

/**
 * Admits calls of models within the cost limits of flows (`max_cost_usd`), organisations and keys (per month). It
 * reserves the estimated cost until a call has ended, so that concurrent calls do not all spend the same remainder.
 */
export function createSpending(db: Database, defaultMonth: number | undefined) {
  async function reserve(call: CostlyCall, limits: SpendingLimits, months: readonly Limit[], call_id: string) {
    const { org_id, run_id, path } = call;
    return db.orgTransaction(org_id, async (connection) => {
      const amount = call.amount ?? 0;
      // Locked always in this order, so that calls never deadlock: the run's, the organisation's, the key's.
      if (limits.budgeted && limits.root !== null && run_id !== null) {
        await lockCosts(connection, limits.root);
        for (const budget of await budgetsOf(connection, run_id)) {
          const answer = admitCost(budget, amount);
          if (answer === "spent") throw budgetExceeded(budget);
          if (answer === "wait") return "wait";
        }
      }
      for (const { key_id } of months) await countMonth(connection, org_id, key_id);
      for (const { key_id, most } of months) {
        const month = { ...(await lockMonth(connection, key_id)), most };
        const answer = admitCost(month, amount);
        if (answer === "spent") throw monthExceeded(month, key_id);
        if (answer === "wait") return "wait";
      }
      await insertReservation(
        connection,
        { call_id, org_id, key_id: limits.key_id, run_id, path, amount },
        RESERVED_SECONDS,
      );
      return "begin";
    });
  }

  /** Records a call once, and adds its cost to the months, even if they have no limit. */
  async function write(connection: Db, row: ModelCallRow, months: readonly Limit[], keep?: KeepAnswer): Promise<void> {
    const { org_id, key_id, call_id, cost_usd } = row;
    await holdMonths(connection, org_id);
    // An earlier attempt may have been committed although its process got an error.
    if (!(await insertModelCall(connection, row))) return;
    await keep?.(connection);
    // Done last, because other calls wait for these locks.
    await deleteReservation(connection, call_id);
    if (cost_usd === null) return;
    for (const of of key_id === null ? [null] : [null, key_id]) {
      const most = months.find((each) => each.key_id === of)?.most ?? null;
      await addToMonth(connection, { org_id, key_id: of, used: cost_usd, most });
    }
  }

  /** Keeps trying even if the call's run has finished, because the cost must be recorded all the same. */
  const insist = (work: () => Promise<void>): Promise<void> =>
    whileDatabaseIsAway(work, { maxMs: INSIST_MS, sleep: (ms) => sleep(ms) });

  return {
    /** Records a call whose process has died, in the caller's transaction. */
    recordLost: (connection: Db, row: ModelCallRow, limits: SpendingLimits): Promise<void> =>
      write(connection, row, monthsOf(limits, defaultMonth)),
    /**
     * Waits while calls in flight may still release enough of the budget. Throws NodeFailure if nothing is left, or the
     * signal's reason.
     */
    async admit(call: CostlyCall): Promise<AdmittedCall> {
      const { org_id, run_id, model, amount, signal } = call;
      const call_id = uuidv7();
      const limits = await db.org(org_id, (connection) => spendingLimits(connection, run_id));
      const { key_id } = limits;
      const months = monthsOf(limits, defaultMonth);
      if (limits.budgeted && amount === null) throw await notPriced(db, call, model);
      const isLimited = limits.budgeted || months.length > 0;
      for (let waitMs = FIRST_WAIT_MS; isLimited; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
        if ((await reserve(call, limits, months, call_id)) === "begin") break;
        await sleep(waitMs, undefined, { signal });
      }
      // Extended regularly, so that long calls keep their reservation.
      const extend = (): void =>
        void db
          .org(org_id, (connection) => extendReservation(connection, call_id, RESERVED_SECONDS))
          .catch(() => undefined);
      const extending = isLimited ? setInterval(extend, EXTENDED_EVERY_MS).unref() : undefined;
      return {
        call_id,
        key_id,
        async record(row, keep) {
          const once = (kept?: KeepAnswer) =>
            db.orgTransaction(org_id, (connection) => write(connection, row, months, kept));
          try {
            await insist(() => once(keep));
          } catch (error) {
            if (keep !== undefined && !isConnectionError(error)) await insist(() => once());
            throw error;
          } finally {
            clearInterval(extending);
          }
        },
        async release() {
          clearInterval(extending);
          // A reservation that is not deleted here expires on its own.
          if (isLimited)
            await db.org(org_id, (connection) => deleteReservation(connection, call_id)).catch(() => undefined);
        },
      };
    },
  };
}

function monthsOf({ key_id, org_most, key_most }: SpendingLimits, defaultMonth: number | undefined): Limit[] {
  const ofOrganisation = org_most ?? defaultMonth;
  return [
    ...(ofOrganisation === undefined ? [] : [{ key_id: null, most: ofOrganisation }]),
    ...(key_most === null ? [] : [{ key_id, most: key_most }]),
  ];
}

/** The failure for a model without a price; an exhausted budget takes precedence, because it is the more useful reason. */
async function notPriced(db: Database, { org_id, run_id }: CostlyCall, model: string): Promise<NodeFailure> {
  const budgets = await db.org(org_id, (connection) => budgetsOf(connection, run_id ?? ""));
  const spent = budgets.find((budget) => budget.spent >= budget.most);
  if (spent) return budgetExceeded(spent);
  const most = Math.min(...budgets.map((budget) => budget.most));
  const message = `Model ${model} has no price, so the flow's settings.max_cost_usd (${most}) cannot be enforced. ${PRICE_WAY_OUT}.`;
  return new NodeFailure("model_not_priced", message);
}

function budgetExceeded({ most, spent }: Spending): NodeFailure {
  const message = `Model cost so far: ${spent} USD. The flow's settings.max_cost_usd is ${most}.`;
  return new NodeFailure("budget_exceeded", message);
}

function monthExceeded({ most, spent }: Spending, keyId: string | null): NodeFailure {
  const whose = keyId === null ? "the organisation" : `key ${keyId}`;
  const message = `Model cost of ${whose} this month: ${spent} USD. Its quota model_usd_month is ${most}.`;
  return new NodeFailure("quota_exceeded", message);
}

import { setTimeout as sleep } from "node:timers/promises";
import { uuidv7 } from "uuidv7";
import { admitCost } from "../../domain/accounts/quotas.ts";
import type { Spending } from "../../domain/accounts/quotas.ts";
import { PRICE_WAY_OUT } from "../../domain/models/prices.ts";
import { NodeFailure } from "../../domain/runs/failure.ts";
import type { Database, Db } from "../../stores/db.ts";
import { lockMonth, useQuota } from "../../stores/quotas.ts";
import {
  budgetsOf,
  deleteReservation,
  extendReservation,
  insertReservation,
  lockCosts,
  spendingLimits,
} from "../../stores/models/spending.ts";
import type { SpendingLimits } from "../../stores/models/spending.ts";

/** How long a reservation outlives the last sign of life of its process. */
const RESERVED_SECONDS = 300;
const EXTENDED_EVERY_MS = 60_000;
/** How long a call that has to wait for others waits before it tries again (ms). */
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 2000;

/** A call about to be made. */
export interface CostlyCall {
  readonly org_id: string;
  /** Null: a judge's. */
  readonly run_id: string | null;
  readonly path: string;
  readonly model: string;
  /** What it may cost at most (US dollars); null where the model has no price. */
  readonly amount: number | null;
  readonly signal: AbortSignal;
}

/** An admitted call. It ends with either `settle` or `release`. */
export interface AdmittedCall {
  readonly call_id: string;
  readonly key_id: string | null;
  /** Whether any limit applies to its cost, so that it must be settled. */
  readonly limited: boolean;
  /** Replaces the reservation by the actual cost, in the transaction that records the call. */
  settle(db: Db, cost: number | null): Promise<void>;
  /** For a call that is not recorded. */
  release(): Promise<void>;
}

interface Limit {
  readonly key_id: string | null;
  readonly most: number;
}

/**
 * Admits calls of models within the cost limits of flows (`max_cost_usd`), organisations and keys (a month). It
 * reserves the estimated cost until a call has ended, so that concurrent calls do not all spend the same remainder.
 */
export function createSpending(db: Database, defaultMonth: number | undefined) {
  async function reserve(call: CostlyCall, limits: SpendingLimits, months: readonly Limit[], call_id: string) {
    const { org_id, run_id, path } = call;
    return db.orgTransaction(org_id, async (connection) => {
      const amount = call.amount ?? 0;
      // Always in this order: the run's, the organisation's, the key's.
      if (limits.budgeted && limits.root !== null && run_id !== null) {
        await lockCosts(connection, limits.root);
        for (const budget of await budgetsOf(connection, run_id)) {
          const answer = admitCost(budget, amount);
          if (answer === "spent") throw budgetExceeded(budget);
          if (answer === "wait") return "wait";
        }
      }
      for (const { key_id, most } of months) {
        const month = { ...(await lockMonth(connection, org_id, key_id)), most };
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

  async function addToMonths(connection: Db, org_id: string, months: readonly Limit[], cost: number | null) {
    for (const { key_id, most } of months)
      await useQuota(connection, { org_id, key_id, what: "model_usd_month", used: cost ?? 0, add: true, most });
  }

  return {
    /** Counts a call that its process has not settled, in the transaction that records it. */
    charge: (connection: Db, org_id: string, limits: SpendingLimits, cost: number | null): Promise<void> =>
      addToMonths(connection, org_id, monthsOf(limits, defaultMonth), cost),
    /**
     * Waits while open calls may release what is needed. Throws NodeFailure if nothing is left, or the signal's
     * reason.
     */
    async admit(call: CostlyCall): Promise<AdmittedCall> {
      const { org_id, run_id, model, amount, signal } = call;
      const call_id = uuidv7();
      const limits = await db.org(org_id, (connection) => spendingLimits(connection, run_id));
      const { key_id } = limits;
      const months = monthsOf(limits, defaultMonth);
      if (!limits.budgeted && months.length === 0)
        return { call_id, key_id, limited: false, settle: async () => undefined, release: async () => undefined };
      if (limits.budgeted && amount === null) throw await notPriced(db, call, model);
      for (let waitMs = FIRST_WAIT_MS; ; waitMs = Math.min(2 * waitMs, MAX_WAIT_MS)) {
        if ((await reserve(call, limits, months, call_id)) === "begin") break;
        await sleep(waitMs, undefined, { signal });
      }
      // Longer calls keep their reservation.
      const extending = setInterval(() => {
        db.org(org_id, (connection) => extendReservation(connection, call_id, RESERVED_SECONDS)).catch(() => undefined);
      }, EXTENDED_EVERY_MS).unref();
      return {
        call_id,
        key_id,
        limited: true,
        async settle(connection, cost) {
          clearInterval(extending);
          await deleteReservation(connection, call_id);
          await addToMonths(connection, org_id, months, cost);
        },
        async release() {
          clearInterval(extending);
          // One that stays expires.
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

/** An exhausted budget is the better reason. */
async function notPriced(db: Database, { org_id, run_id }: CostlyCall, model: string): Promise<NodeFailure> {
  const budgets = await db.org(org_id, (connection) => budgetsOf(connection, run_id ?? ""));
  const spent = budgets.find((budget) => budget.spent >= budget.most);
  if (spent) return budgetExceeded(spent);
  const most = Math.min(...budgets.map((budget) => budget.most));
  const message = `The flow's settings.max_cost_usd is ${most}, and the model ${model} has no price: it would never be reached. ${PRICE_WAY_OUT}.`;
  return new NodeFailure("model_not_priced", message);
}

function budgetExceeded({ most, spent }: Spending): NodeFailure {
  const message = `Models have cost ${spent} US dollars by now, and the flow's settings.max_cost_usd is ${most}.`;
  return new NodeFailure("budget_exceeded", message);
}

function monthExceeded({ most, spent }: Spending, keyId: string | null): NodeFailure {
  const whose = keyId === null ? "the organisation" : `key ${keyId}`;
  const message = `Models have cost ${whose} ${spent} US dollars this month, and its quota model_usd_month is ${most}.`;
  return new NodeFailure("quota_exceeded", message);
}

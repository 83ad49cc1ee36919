import { createShares, roundRobin } from "../../domain/shares.ts";
import { createCounts } from "../counts.ts";

/** A subscription with due deliveries. */
export interface ReadySubscription {
  readonly subscription_id: string;
  readonly org_id: string;
  /** Whether its last attempt failed. */
  readonly failing: boolean;
}

export type DeliverySlots = ReturnType<typeof createDeliverySlots>;

export interface DeliverySlot {
  release(): void;
}

/**
 * Counts deliveries in flight: at most `perSubscription` to one subscription, which bounds the slots of a hanging
 * receiver, and at most `total` altogether. Each organisation has its share. Failing subscriptions get at most half of
 * the slots, so that the others always find one.
 */
export function createDeliverySlots(total: number, perSubscription: number) {
  const underWay = createCounts<string>();
  const shares = createShares(total);
  // Failing subscriptions have separate shares per organisation, so that one organisation's do not delay another's.
  const failingShares = createShares(Math.max(2, Math.floor(total / 2)));

  /** Whether `take` would return a slot for this subscription. */
  const isFree = ({ subscription_id, org_id, failing }: ReadySubscription): boolean =>
    underWay.of(subscription_id) < perSubscription &&
    (!failing || failingShares.free(org_id) > 0) &&
    shares.free(org_id) > 0;

  return {
    isFree,
    total,
    inUse: () => shares.inUse(),
    /** A slot for a delivery to this subscription, or null if none is free. */
    take(subscription: ReadySubscription): DeliverySlot | null {
      const { subscription_id, org_id, failing } = subscription;
      const giveBack = isFree(subscription) ? shares.take(org_id) : null;
      if (giveBack === null) return null;
      underWay.add(subscription_id, 1);
      const giveBackFailing = failing ? failingShares.take(org_id) : null;
      let held = true;
      return {
        release() {
          if (!held) return;
          held = false;
          giveBack();
          giveBackFailing?.();
          underWay.add(subscription_id, -1);
        },
      };
    },
  };
}

/** Most deliveries claimed by one statement. */
const MAX_CLAIMED = 100;

/** Slots reserved for deliveries to a subscription. */
export interface Reservation extends ReadySubscription {
  readonly slots: DeliverySlot[];
}

/**
 * Reserves slots for due deliveries until none is left: round robin by organisation, then by subscription. Release the
 * slots that get no delivery.
 */
export function reserve(ready: readonly ReadySubscription[], slots: Pick<DeliverySlots, "take">): Reservation[] {
  const reservations = roundRobin(ready, ({ org_id }) => org_id).map((each): Reservation => ({ ...each, slots: [] }));
  let left = MAX_CLAIMED;
  for (let open = reservations; open.length > 0 && left > 0;) {
    const again: Reservation[] = [];
    for (const each of open) {
      const slot = left > 0 ? slots.take(each) : null;
      if (slot === null) continue;
      left -= 1;
      each.slots.push(slot);
      again.push(each);
    }
    open = again;
  }
  return reservations.filter((each) => each.slots.length > 0);
}

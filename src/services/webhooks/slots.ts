/** How many deliveries a process may have under way. */
export interface DeliverySlots {
  /** A slot for a delivery to this subscription, or null when there is none. `failing`: its last attempt has failed. */
  take(subscriptionId: string, failing: boolean): DeliverySlot | null;
  /** How many slots are free in all; with `failing`, of those that subscriptions that fail may have. */
  left(failing: boolean): number;
  /** How many slots `take` would give for this subscription. */
  free(subscriptionId: string, failing: boolean): number;
  readonly inUse: () => number;
}

export interface DeliverySlot {
  release(): void;
}

/**
 * Counts deliveries under way: at most `perSubscription` to one, so that a receiver that hangs holds no more than that,
 * and at most `total` in all, of which those that fail get half: however many of them there are, the others find a slot.
 */
export function createDeliverySlots(total: number, perSubscription: number): DeliverySlots {
  const underWay = new Map<string, number>();
  const max = { healthy: total, failing: Math.max(1, Math.floor(total / 2)) };
  let all = 0;
  let failingOnes = 0;

  const left = (failing: boolean): number =>
    Math.max(0, failing ? Math.min(max.healthy - all, max.failing - failingOnes) : max.healthy - all);
  const free = (subscriptionId: string, failing: boolean): number =>
    Math.max(0, Math.min(perSubscription - (underWay.get(subscriptionId) ?? 0), left(failing)));

  return {
    left,
    free,
    inUse: () => all,
    take(subscriptionId, failing) {
      if (free(subscriptionId, failing) === 0) return null;
      underWay.set(subscriptionId, (underWay.get(subscriptionId) ?? 0) + 1);
      all += 1;
      if (failing) failingOnes += 1;
      let held = true;
      return {
        release() {
          if (!held) return;
          held = false;
          all -= 1;
          if (failing) failingOnes -= 1;
          const others = (underWay.get(subscriptionId) ?? 1) - 1;
          if (others === 0) underWay.delete(subscriptionId);
          else underWay.set(subscriptionId, others);
        },
      };
    },
  };
}

/** Deliveries claimed at once. */
const MAX_CLAIMED = 100;

/** A subscription to which deliveries are due. */
export interface ReadySubscription {
  readonly subscription_id: string;
  readonly failing: boolean;
}

/** How many deliveries to take of which subscription: one of each in turn, until the slots are used up. */
export function shares(
  ready: readonly ReadySubscription[],
  slots: Pick<DeliverySlots, "free" | "left">,
): Array<ReadySubscription & { readonly count: number }> {
  let left = Math.min(MAX_CLAIMED, slots.left(false));
  // Those that fail share what is theirs among themselves.
  let leftForFailing = Math.min(left, slots.left(true));
  const open = ready.map(({ subscription_id, failing }) => ({
    subscription_id,
    failing,
    count: 0,
    max: slots.free(subscription_id, failing),
  }));
  for (let gave = true; gave && left > 0;) {
    gave = false;
    for (const each of open) {
      if (left === 0) break;
      if (each.count >= each.max || (each.failing && leftForFailing === 0)) continue;
      each.count += 1;
      left -= 1;
      if (each.failing) leftForFailing -= 1;
      gave = true;
    }
  }
  return open
    .filter((each) => each.count > 0)
    .map(({ subscription_id, failing, count }) => ({ subscription_id, failing, count }));
}

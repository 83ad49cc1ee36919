/** How many deliveries a process may have under way. */
export interface DeliverySlots {
  /** A place for a delivery to this subscription, or null when there is none. `failing`: its last attempts have failed. */
  take(subscriptionId: string, failing: boolean): DeliverySlot | null;
  /** How many places there are in all; with `failing`, of those that subscriptions that fail may have. */
  left(failing: boolean): number;
  /** How many places `take` would give for this subscription. */
  free(subscriptionId: string, failing: boolean): number;
  readonly inUse: () => number;
}

export interface DeliverySlot {
  release(): void;
}

/**
 * Counts deliveries under way: at most `perSubscription` to one, so that a receiver that hangs holds no more than that,
 * and at most `total` in all, of which those that fail get half: however many of them there are, the others find a place.
 */
export function createDeliverySlots(total: number, perSubscription: number): DeliverySlots {
  const underWay = new Map<string, number>();
  const most = { healthy: total, failing: Math.max(1, Math.floor(total / 2)) };
  let all = 0;
  let failingOnes = 0;

  const left = (failing: boolean): number =>
    Math.max(0, failing ? Math.min(most.healthy - all, most.failing - failingOnes) : most.healthy - all);
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

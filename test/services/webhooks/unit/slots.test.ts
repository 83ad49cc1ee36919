import { describe, expect, it } from "vitest";
import { createDeliverySlots, shares } from "../../../../src/services/webhooks/slots.ts";

describe("the slots for deliveries", () => {
  it("are so many for one subscription, and so many in all", () => {
    const slots = createDeliverySlots(5, 2);
    expect([slots.take("a", false), slots.take("a", false)]).not.toContain(null);
    expect(slots.take("a", false)).toBeNull();
    for (const id of ["b", "c", "d"]) expect(slots.take(id, false)).not.toBeNull();
    expect(slots.take("e", false)).toBeNull();
    expect(slots.inUse()).toBe(5);
  });

  it("are at most half for those that fail, and all for those that do not", () => {
    const slots = createDeliverySlots(10, 10);
    for (let place = 0; place < 5; place += 1) expect(slots.take(`failing-${place}`, true)).not.toBeNull();
    expect(slots.take("failing-6", true)).toBeNull();
    expect(slots.free("healthy", false)).toBe(5);
    for (let place = 0; place < 5; place += 1) expect(slots.take("healthy", false)).not.toBeNull();
    expect(slots.inUse()).toBe(10);
  });

  it("leave one for those that fail, however few there are", () => {
    expect(createDeliverySlots(1, 1).free("a", true)).toBe(1);
    expect(createDeliverySlots(3, 3).free("a", true)).toBe(1);
  });

  it("are free again once, however often one is given back", () => {
    const slots = createDeliverySlots(2, 1);
    const [one, other] = [slots.take("a", true), slots.take("b", false)];
    one?.release();
    one?.release();
    expect(slots.inUse()).toBe(1);
    expect(slots.free("a", true)).toBe(1);
    expect(slots.free("b", false)).toBe(0);
    other?.release();
    expect(slots.inUse()).toBe(0);
    expect(slots.free("b", false)).toBe(1);
  });
});

describe("what is taken at once", () => {
  const healthy = (subscription_id: string) => ({ subscription_id, failing: false });
  const failing = (subscription_id: string) => ({ subscription_id, failing: true });

  it("is one of each subscription in turn, until the slots are used up", () => {
    const slots = createDeliverySlots(7, 7);
    expect(shares([healthy("a"), healthy("b"), healthy("c")], slots)).toEqual([
      { ...healthy("a"), count: 3 },
      { ...healthy("b"), count: 2 },
      { ...healthy("c"), count: 2 },
    ]);
  });

  it("leaves out those for which there is no slot", () => {
    const slots = createDeliverySlots(4, 1);
    slots.take("a", false);
    expect(shares([healthy("a"), healthy("b")], slots)).toEqual([{ ...healthy("b"), count: 1 }]);
    expect(shares([], slots)).toEqual([]);
  });

  it("gives those that fail no more than what is theirs, in all", () => {
    const slots = createDeliverySlots(8, 8);
    const taken = shares([failing("x"), failing("y"), failing("z"), healthy("a")], slots);
    const of = (ids: string) =>
      taken.filter((each) => ids.includes(each.subscription_id)).reduce((sum, { count }) => sum + count, 0);
    expect(of("xyz")).toBe(4);
    expect(of("a")).toBe(4);
  });

  it("is nothing when every slot is taken", () => {
    const slots = createDeliverySlots(2, 2);
    slots.take("a", false);
    slots.take("b", false);
    expect(shares([healthy("c")], slots)).toEqual([]);
  });

  it("can all be taken afterwards", () => {
    const slots = createDeliverySlots(9, 4);
    slots.take("x", true);
    const waiting = [failing("x"), failing("y"), healthy("a"), healthy("b")];
    for (const { subscription_id, count } of shares(waiting, slots)) {
      const isFailing = subscription_id === "x" || subscription_id === "y";
      for (let place = 0; place < count; place += 1) expect(slots.take(subscription_id, isFailing)).not.toBeNull();
    }
  });
});

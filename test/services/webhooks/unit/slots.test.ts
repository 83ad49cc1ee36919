import { describe, expect, it } from "vitest";
import { createDeliverySlots, reserve } from "../../../../src/services/webhooks/slots.ts";

const healthy = (subscription_id: string, org_id = subscription_id) => ({ subscription_id, org_id, failing: false });
const failing = (subscription_id: string, org_id = subscription_id) => ({ subscription_id, org_id, failing: true });
const counts = (reserved: ReturnType<typeof reserve>) =>
  Object.fromEntries(reserved.map(({ subscription_id, slots }) => [subscription_id, slots.length]));

describe("delivery slots", () => {
  it("are limited per webhook and in total", () => {
    const slots = createDeliverySlots(6, 2);
    expect([slots.take(healthy("a")), slots.take(healthy("a"))]).not.toContain(null);
    expect(slots.take(healthy("a"))).toBeNull();
    for (const id of ["b", "c", "d", "e"]) expect(slots.take(healthy(id))).not.toBeNull();
    expect(slots.take(healthy("f"))).toBeNull();
    expect([slots.inUse(), slots.total]).toEqual([6, 6]);
  });

  it("noisy-neighbour: are limited to half for one organisation, however many webhooks it has", () => {
    const slots = createDeliverySlots(8, 8);
    const taken = Array.from({ length: 14 }, (_, at) => slots.take(healthy(`a-${at}`, "a")));
    expect(taken.filter((slot) => slot !== null)).toHaveLength(4);
    expect(slots.take(healthy("b"))).not.toBeNull();
  });

  it("are limited to half for failing webhooks, while healthy ones may use all", () => {
    const slots = createDeliverySlots(10, 10);
    for (let place = 0; place < 5; place += 1) expect(slots.take(failing(`failing-${place}`))).not.toBeNull();
    expect(slots.take(failing("failing-6"))).toBeNull();
    for (let place = 0; place < 5; place += 1) expect(slots.take(healthy(`healthy-${place}`))).not.toBeNull();
    expect(slots.inUse()).toBe(10);
  });

  it("noisy-neighbour: leave a part of that half to failing webhooks of other organisations", () => {
    const slots = createDeliverySlots(16, 16);
    const taken = Array.from({ length: 20 }, (_, at) => slots.take(failing(`a-${at}`, "a")));
    expect(taken.filter((slot) => slot !== null)).toHaveLength(4);
    expect(slots.take(failing("b"))).not.toBeNull();
  });

  it("include one for failing webhooks, however few there are", () => {
    expect(createDeliverySlots(1, 1).isFree(failing("a"))).toBe(true);
    expect(createDeliverySlots(3, 3).isFree(failing("a"))).toBe(true);
  });

  it("are released only once, however often they are given back", () => {
    const slots = createDeliverySlots(2, 1);
    const [one, other] = [slots.take(failing("a")), slots.take(healthy("b"))];
    one?.release();
    one?.release();
    expect(slots.inUse()).toBe(1);
    expect(slots.isFree(failing("a"))).toBe(true);
    expect(slots.isFree(healthy("b"))).toBe(false);
    other?.release();
    expect(slots.inUse()).toBe(0);
    expect(slots.isFree(healthy("b"))).toBe(true);
  });
});

describe("a reservation of slots", () => {
  it("is round robin by organisation, then by webhook, within the organisation's share", () => {
    const ready = [healthy("a-1", "a"), healthy("a-2", "a"), healthy("a-3", "a"), healthy("b-1", "b")];
    expect(reserve(ready, createDeliverySlots(100, 1)).map(({ subscription_id }) => subscription_id)).toEqual([
      "a-1",
      "b-1",
      "a-2",
      "a-3",
    ]);
    expect(counts(reserve(ready, createDeliverySlots(6, 7)))).toEqual({ "a-1": 1, "a-2": 1, "a-3": 1, "b-1": 2 });
  });

  it("skips webhooks without a free slot", () => {
    const slots = createDeliverySlots(4, 1);
    slots.take(healthy("a"));
    expect(counts(reserve([healthy("a"), healthy("b")], slots))).toEqual({ b: 1 });
    expect(reserve([], slots)).toEqual([]);
  });

  it("gives failing webhooks no more than their share in total", () => {
    const slots = createDeliverySlots(8, 8);
    const taken = counts(reserve([failing("x"), failing("y"), failing("z"), healthy("a")], slots));
    expect((taken["x"] ?? 0) + (taken["y"] ?? 0) + (taken["z"] ?? 0)).toBe(3);
    expect(taken["a"]).toBe(3);
  });

  it("is held until it is released", () => {
    const slots = createDeliverySlots(2, 2);
    const reserved = reserve([healthy("a"), healthy("b")], slots);
    expect(reserve([healthy("c")], slots)).toEqual([]);
    for (const each of reserved) for (const slot of each.slots) slot.release();
    expect(slots.inUse()).toBe(0);
  });
});

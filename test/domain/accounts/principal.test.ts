import { describe, expect, it } from "vitest";
import {
  asIn,
  asViewer,
  highestRole,
  projectsWith,
  roleAllows,
  roleIn,
  type Principal,
} from "../../../src/domain/accounts/principal.ts";

const HERE = "0190a000-0000-7000-8000-0000000000aa";
const ELSEWHERE = "0190a000-0000-7000-8000-0000000000bb";
const ROLES = ["member", "viewer", "editor", "admin"] as const;
type Role = (typeof ROLES)[number];

const user = (role: Role, granted?: Role, more: Partial<Principal> = {}): Principal =>
  ({
    org_id: "o",
    access: "secret",
    role,
    ...(granted === undefined ? {} : { grants: { [HERE]: granted } }),
    ...more,
  }) as Principal;

/** Role in the organisation, role in the project, effective role in the project. */
const CASES: ReadonlyArray<readonly [Role, Role | undefined, Role]> = [
  ["member", undefined, "member"],
  ["member", "viewer", "viewer"],
  ["member", "editor", "editor"],
  ["member", "admin", "admin"],
  ["viewer", "viewer", "viewer"],
  ["viewer", "editor", "editor"],
  ["editor", "viewer", "editor"],
  ["editor", "admin", "admin"],
  ["admin", "viewer", "admin"],
  ["admin", undefined, "admin"],
];

describe("a role in a project", () => {
  it.each(CASES)(
    "for an organisation %s with the project role %s is %s: the higher of the two",
    (role, granted, there) => {
      const who = user(role, granted);
      expect(roleIn(who, HERE)).toBe(there);
      expect(roleIn(who, HERE.toUpperCase())).toBe(there);
      expect(roleIn(who, ELSEWHERE)).toBe(role);
      expect(highestRole(who)).toBe(there);
      // A role in one project gives no rights in another.
      const inside = asIn(who, HERE);
      expect([inside.role, roleIn(inside, ELSEWHERE), roleIn(asIn(inside, ELSEWHERE), HERE)]).toEqual([
        there,
        role,
        there,
      ]);
    },
  );

  it.each(CASES)(
    "for an organisation %s with the project role %s decides in which projects it may edit",
    (role, granted, there) => {
      const isEverywhere = roleAllows(role, "editor");
      const isThere = roleAllows(there, "editor");
      expect(projectsWith(user(role, granted), "editor")).toEqual(isEverywhere ? undefined : isThere ? [HERE] : []);
    },
  );

  it("reaches only the projects of a restricted key, and is viewer for a caller reduced to read access", () => {
    const limited = user("admin", undefined, { limits: { projects: [ELSEWHERE] } } as unknown as Partial<Principal>);
    expect(projectsWith(limited, "viewer")).toEqual([ELSEWHERE]);
    expect(asViewer(user("admin")).role).toBe("viewer");
  });

  it("includes the rights of every lower role and of no higher role", () => {
    for (const [at, role] of ROLES.entries())
      expect(ROLES.filter((needed) => roleAllows(role, needed))).toEqual(ROLES.slice(0, at + 1));
  });
});

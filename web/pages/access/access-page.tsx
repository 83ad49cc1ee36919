import type { JSX } from "react";
import { Link, useSearchParams } from "react-router";
import { useMay, useMayAnywhere } from "../../api/accounts.ts";
import { links } from "../../links.ts";
import { PageHead } from "../../parts/page.tsx";
import { Tabs } from "../../parts/tabs.tsx";
import { AuditLog } from "./audit.tsx";
import { Keys } from "./keys.tsx";
import { Members } from "./members.tsx";
import { Sessions } from "./sessions.tsx";
import { Users } from "./users.tsx";
import "./access.css";

const TABS = { users: Users, members: Members, keys: Keys, sessions: Sessions, audit: AuditLog } as const;
type Tab = keyof typeof TABS;
const NAMES: Readonly<Record<Tab, string>> = {
  users: "Users",
  members: "Project roles",
  keys: "API keys",
  sessions: "Sessions",
  audit: "Audit log",
};

/**
 * Users and their roles, API keys, sessions, and the audit log. Admins of projects set the roles in these projects;
 * other users see their own sessions.
 */
export function AccessPage(): JSX.Element {
  const [search] = useSearchParams();
  const isAdmin = useMay("admin");
  const isAdminSomewhere = useMayAnywhere("admin");
  const tabs: readonly Tab[] = isAdmin
    ? ["users", "members", "keys", "sessions", "audit"]
    : isAdminSomewhere
      ? ["members", "sessions"]
      : ["sessions"];
  const tab = tabs.find((each) => each === search.get("tab")) ?? tabs[0] ?? "sessions";
  const Chosen = TABS[tab];
  return (
    <>
      <PageHead about="Users, project roles, API keys, sessions and the audit log." />
      {tabs.length > 1 && (
        <Tabs
          label="Access"
          tabs={tabs}
          chosen={tab}
          link={(each, current) => (
            <Link to={links.access(each)} aria-current={current}>
              {NAMES[each]}
            </Link>
          )}
        />
      )}
      <Chosen />
    </>
  );
}

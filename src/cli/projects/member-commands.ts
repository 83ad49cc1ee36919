import { Argument, InvalidArgumentError, type Command } from "@commander-js/extra-typings";
import { emailAddress } from "../../domain/accounts/accounts.ts";
import { PROJECT_ROLES } from "../../domain/accounts/principal.ts";
import { isUuid } from "../../domain/uuid.ts";
import type { z } from "zod";
import type { memberSchema } from "../../api/accounts/project-members.ts";
import type { ApiClient } from "../api-client.ts";
import { CommandFailure } from "../failure.ts";
import { requireProject } from "../flow-file.ts";
import { newest, showTable } from "../listing.ts";
import { apiCommand, openApi, show } from "../options.ts";

type Member = z.infer<typeof memberSchema>;

/** `projects members list|set|remove`: roles that users have in one project. */
export function addMemberCommands(projects: Command): void {
  const members = projects.command("members").description("manage the roles of users in a project");
  const user = ["<user>", "user ID or e-mail address", readUser] as const;
  apiCommand(members, "list", "list the users with a role in a project")
    .argument("<project>", "project name or ID")
    .action(async (name, options) => {
      const { api } = openApi(options);
      const { project_id } = await requireProject(api, name);
      showTable(options.json, await newest<Member>(api, `/v2/projects/${project_id}/members`), {
        USER: ({ user_id }) => user_id,
        "E-MAIL": ({ email }) => email,
        ROLE: ({ role }) => role,
      });
    });
  apiCommand(members, "set", "give a user a role in a project, or change it")
    .argument("<project>", "project name or ID")
    .argument(...user)
    .addArgument(new Argument("<role>", "role of the user in the project").choices(PROJECT_ROLES))
    .action(async (name, given, role, options) => {
      const { api } = openApi(options);
      const { project_id } = await requireProject(api, name);
      const id = await idOf(api, project_id, given);
      const set = await api.put<Member>(`/v2/projects/${project_id}/members/${id}`, { role });
      show(options.json, set, () => [`${set.user_id}  ${set.email}, ${set.role}`]);
    });
  apiCommand(members, "remove", "remove a user's role in a project")
    .argument("<project>", "project name or ID")
    .argument(...user)
    .action(async (name, given, options) => {
      const { api } = openApi(options);
      const { project_id } = await requireProject(api, name);
      const id = await idOf(api, project_id, given);
      await api.delete(`/v2/projects/${project_id}/members/${id}`);
      show(options.json, { removed: id }, () => [`removed ${id}`]);
    });
}

function readUser(text: string): string {
  if (isUuid(text) || emailAddress.safeParse(text).success) return text;
  throw new InvalidArgumentError("Pass the ID of a user or the complete e-mail address.");
}

async function idOf(api: ApiClient, projectId: string, user: string): Promise<string> {
  if (isUuid(user)) return user;
  const path = `/v2/projects/${projectId}/member-candidates`;
  const { data } = await api.get<{ data: readonly { readonly user_id: string }[] }>(path, { email: user });
  if (data[0]) return data[0].user_id;
  throw new CommandFailure(`No user of the organisation has the e-mail address ${user}.`);
}

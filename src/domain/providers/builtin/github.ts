import { bearer, webAddress } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

export const github: Provider = {
  provider_id: "github",
  provider_version: "1",
  name: "GitHub",
  description: "Repositories, issues and pull requests of GitHub",
  provider_group: ["development"],
  tags: ["git", "issues", "code"],
  icon: null,
  auth: {
    required: true,
    schemes: {
      bearer: bearer({
        base_url: webAddress("The REST API: of GitHub Enterprise Server https://HOST/api/v3", {
          default: "https://api.github.com",
        }),
      }),
    },
  },
  source: "builtin",
  check: { method: "GET", path: "/user", headers: { accept: "application/vnd.github+json" } },
};

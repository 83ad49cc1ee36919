import type { Provider } from "../provider.ts";

export const millrace: Provider = {
  provider_id: "millrace",
  provider_version: "1",
  name: "Millrace",
  description: "The organisation's own flows and knowledge bases",
  provider_group: ["core"],
  tags: ["flows", "knowledge"],
  icon: null,
  auth: { required: false, schemes: {} },
  source: "builtin",
};

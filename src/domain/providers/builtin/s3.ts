import { fieldsOf, plain, secretText, webAddress } from "../auth-fields.ts";
import type { Provider } from "../provider.ts";

export const s3: Provider = {
  provider_id: "s3",
  provider_version: "1",
  name: "S3",
  description: "Objects of Amazon S3 and of every store with the same interface; also a source of knowledge bases",
  provider_group: ["storage"],
  tags: ["files", "objects", "aws"],
  icon: null,
  auth: {
    required: true,
    schemes: {
      api_key: {
        fields: fieldsOf(
          {
            access_key_id: plain("The access key"),
            secret_access_key: secretText("Its secret"),
            session_token: secretText("Of temporary credentials"),
            region: plain("The region", { default: "us-east-1" }),
            endpoint: webAddress("Of a store that is not Amazon's; its buckets are addressed by path"),
          },
          ["session_token", "endpoint"],
        ),
      },
    },
  },
  source: "builtin",
  actions: [],
  triggers: [],
};

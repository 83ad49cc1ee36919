/** SQL for the e-mail address of a user or the name of an API key; null if neither exists any more. */
export const nameOf = (id: string, orgId: string): string => `coalesce(
  (select u.email from users u where u.user_id = ${id} and u.org_id = ${orgId}),
  (select k.name from api_keys k where k.key_id = ${id} and k.org_id = ${orgId}))`;

/** The roles of the user with alias `u`, by project, for statements that authenticate. */
export const GRANTS_OF_USER =
  "(select jsonb_object_agg(g.project_id, g.role) from project_roles g where g.user_id = u.user_id) as grants";

/** Joins the user whose rights a row keeps. A disabled user keeps the roles, so that the flows continue to work. */
export const ownerOfRights = (row: string): string => `left join users u on ${row}.rights ->> 'type' = 'user'
  and u.user_id = (${row}.rights ->> 'id')::uuid and u.org_id = ${row}.org_id`;

/** The current rights of this user. */
export const PRESENT_RIGHTS = `case when u.user_id is not null
  then (select to_jsonb(r) from (select u.role, ${GRANTS_OF_USER}) r) end as present`;

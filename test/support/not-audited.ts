/** The audit of services that a test calls itself, without a request: it notes nothing. */
export const NOT_AUDITED = { audit: async () => undefined, view: (row: object) => row };

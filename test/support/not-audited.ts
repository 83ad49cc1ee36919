/** An audit for services that a test calls directly, without a request; it records nothing. */
export const NOT_AUDITED = { audit: async () => undefined, view: (row: object) => row };

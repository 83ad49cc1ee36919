import { createHash } from "node:crypto";
import ipaddr from "ipaddr.js";
import { hashPassword, matchPassword, needsRehash } from "../../platform/secrets/crypto.ts";
import { findUsersByAddress, replaceHash, type User, type UserSigningIn } from "../../stores/accounts/users.ts";
import type { Database } from "../../stores/db.ts";
import { createRateLimiter } from "../rate-limiter.ts";
import type { PasswordQueue } from "./password-queue.ts";

const QUARTER = 900;
const MONTH = 30 * 24 * 3600;
/** Limit of wrong passwords for one e-mail address from one network. */
const GUESSES = { name: "sign-in", points: 10, seconds: QUARTER };
/** Limit of wrong passwords for all e-mail addresses from one network, and for one e-mail address from all networks. */
const GUESSES_OF_ONE = { name: "sign-in-of", points: 100, seconds: QUARTER };
/** Attempts still allowed beyond these limits, so that an office with one guesser in it is slowed down, not locked out. */
const GUESSES_BEYOND = { name: "sign-in-beyond", points: 20, seconds: 60 };
/** Pairs of user and network with a sign-in during the last month; these are not slowed down. */
const PLACES = { name: "sign-in-place", points: 1, seconds: MONTH };

interface SignInRequest {
  readonly email: string;
  readonly password: string;
  /** The client's IP address. */
  readonly address: string;
  /** Selects the user's organisation if several users have this e-mail address. */
  readonly orgId?: string | undefined;
}

/** Checks passwords for everything that opens a session with one. */
export function createSignIn(db: Database, turns: PasswordQueue) {
  const guesses = createRateLimiter(db, GUESSES);
  const guessesOfOne = createRateLimiter(db, GUESSES_OF_ONE);
  const guessesBeyond = createRateLimiter(db, GUESSES_BEYOND);
  const places = createRateLimiter(db, PLACES);

  /** Counts a guess before the check of its password, so that concurrent guesses all count. */
  async function count(account: string, network: string) {
    const taken: Array<() => Promise<void>> = [];
    /** Undoes the count if the password was not checked. */
    const takeBack = async (): Promise<void> => void (await Promise.all(taken.map((each) => each())));
    const pair = digest(`${account} ${network}`);
    try {
      if (!(await places.has(pair))) {
        for (const one of [digest(network), digest(account)]) {
          const limiter = (await guessesOfOne.tryTake(one)) ? guessesOfOne : guessesBeyond;
          if (limiter === guessesBeyond) await guessesBeyond.take(one);
          taken.push(() => limiter.giveBack(one));
        }
      }
      await guesses.take(pair);
      taken.push(() => guesses.giveBack(pair));
    } catch (error) {
      await takeBack();
      throw error;
    }
    /** Clears the counts after a correct password, and remembers the network. */
    const forgive = async (): Promise<void> => {
      await takeBack();
      await Promise.all([guesses.reset(pair), places.mark(pair)]);
    };
    return { takeBack, forgive };
  }

  /** The user with this password, whose hash is renewed if it is outdated. */
  async function find(address: string, password: string, orgId: string | undefined): Promise<User | null> {
    const users = await usersWithAddress(db, address, orgId);
    const hashes = users.map((each) => each.password_hash);
    const matching = await matchPassword(password, hashes);
    const found = users.find((each) => matching.has(each.password_hash) && each.disabled_at === null);
    if (found && needsRehash(found.password_hash)) {
      const hash = await hashPassword(password, found.password_hash);
      await db.org(found.org_id, (connection) => replaceHash(connection, found.user_id, hash));
    }
    return found ?? null;
  }

  return {
    /**
     * The user with this e-mail address and password; null if there is none or the user is disabled, which callers
     * cannot distinguish. Throws 429 for too many guesses or too many concurrent checks.
     */
    async check({ email, password, address, orgId }: SignInRequest): Promise<User | null> {
      // Counted by the normalised address, so that another spelling of it gives no additional guesses.
      const account = userAddress(email);
      const network = networkOf(address);
      const { takeBack, forgive } = await count(account, network);
      try {
        const user = await turns.take(network, () => find(account, password, orgId));
        if (user) await forgive();
        return user;
      } catch (error) {
        await takeBack();
        throw error;
      }
    },

    /** The hash to store for a user's new password. Throws 429 for too many concurrent calls. */
    hash: (email: string, password: string, orgId: string) => turns.take(orgId, () => hashForUser(db, email, password)),
  };
}

/** The users with this e-mail address, in any case: in every organisation, or in one. */
export async function usersWithAddress(
  db: Database,
  email: string,
  orgId: string | undefined,
): Promise<UserSigningIn[]> {
  const address = userAddress(email);
  return ADDRESS.test(address) ? db.system((connection) => findUsersByAddress(connection, address, orgId)) : [];
}

/**
 * Users with the same address in several organisations share their salt. One derivation checks them all, so that timing
 * does not reveal how many there are.
 */
export async function hashForUser(db: Database, email: string, password: string): Promise<string> {
  const [user] = await db.system((connection) => findUsersByAddress(connection, userAddress(email)));
  return hashPassword(password, user?.password_hash);
}

/** The form of e-mail addresses; no user has any other text. */
const ADDRESS = /^[\x21-\x7e]{1,320}$/;

/** Folds only ASCII letters, like the index of users. */
function userAddress(email: string): string {
  return email.replaceAll(/[A-Z]/g, (letter) => letter.toLowerCase());
}

/** The network of an address: for IPv6 its /64, since one client can use all of it. */
export function networkOf(address: string): string {
  if (!ipaddr.isValid(address)) return address;
  const parsed = ipaddr.process(address);
  if (parsed.kind() === "ipv4") return parsed.toString();
  return `${parsed.toNormalizedString().split(":").slice(0, 4).join(":")}::/64`;
}

function digest(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

import type { Session } from '@recount/contract';
import { toVisible } from '@recount/contract/conversation';

/** A session's title, or else its beginning. */
export const toTitle = ({
  title,
  initial_prompt,
  session_id,
}: Pick<Session, 'title' | 'initial_prompt' | 'session_id'>) =>
  toVisible(title ?? initial_prompt?.trim().split('\n', 1)[0]?.slice(0, 200) ?? session_id);

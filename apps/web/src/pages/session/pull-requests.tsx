import { toVisible } from '@recount/contract/conversation';
import type { ReactNode } from 'react';
import { useAnswer } from '../../server-data/use-answer.ts';
import { Pending } from '../../ui/states.tsx';

const SHOWN_PULL_REQUESTS = 20;

/** The pull requests linked to it. */
export function PullRequests({ sessionId }: { sessionId: string }): ReactNode {
  const { data, isLoading } = useAnswer('/v1/analytics/pull-requests', {
    session_id: sessionId,
    limit: SHOWN_PULL_REQUESTS,
  });
  if (isLoading) return <Pending />;
  return data?.rows.map(({ url, repository, number }) => {
    const name = toVisible(repository !== null && number !== null ? `${repository}#${number}` : url);
    return /^https?:\/\//i.test(url) ? (
      <a key={url} href={url} target="_blank" rel="noopener noreferrer" title={url}>
        {name}
      </a>
    ) : (
      <span key={url}>{name}</span>
    );
  });
}

import { useMutation } from '@tanstack/react-query';
import type { FormEvent, ReactNode } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { Failure } from '../../ui/states.tsx';

const approve = (body: Body<'/v1/device/approve', 'post'>) => send('post', '/v1/device/approve', { body });

/**
 * Confirms the code that `recount connect` shows on a new machine, which then fetches its own key without anyone seeing
 * it.
 */
export function NewMachine({ done }: { done: () => void }): ReactNode {
  const approval = useMutation({ mutationFn: approve, onSuccess: done });
  const onSubmit = (event: FormEvent<HTMLFormElement>): void => {
    event.preventDefault();
    const form = event.currentTarget;
    const data = new FormData(form);
    const person = String(data.get('person')).trim();
    const body = { user_code: String(data.get('code')), ...(person !== '' && { person }) };
    approval.mutate(body, { onSuccess: () => form.reset() });
  };
  return (
    <details className="panel new-key">
      <summary>Connect a machine</summary>
      <form className="admin-form" onSubmit={onSubmit}>
        <label>
          Code that <code>recount connect</code> shows on the machine
          <input name="code" required maxLength={20} placeholder="WDJB-MJHT" autoComplete="off" spellCheck={false} />
        </label>
        <label>
          Owner of the machine (optional; otherwise set by the uploader)
          <input name="person" maxLength={200} placeholder="ada@example.org" />
        </label>
        <button type="submit" className="primary" disabled={approval.isPending}>
          Approve
        </button>
        {approval.data !== undefined && (
          <p role="status">
            {approval.data.machine} fetches its key ({approval.data.scopes.join(', ')}) within seconds. Revoke it if
            that is not the machine you meant.
          </p>
        )}
        {approval.error !== null && <Failure error={approval.error} />}
      </form>
    </details>
  );
}

import { useMutation } from '@tanstack/react-query';
import type { ReactNode } from 'react';
import { type Body, send } from '../../server-data/client.ts';
import { CreateForm } from './admin-forms.tsx';

const approve = (body: Body<'/v1/device/approve', 'post'>) => send('post', '/v1/device/approve', { body });

/**
 * Confirms the code that `recount connect` shows on a new machine, which then fetches its own key without anyone seeing
 * it.
 */
export function NewMachine({ done }: { done: () => void }): ReactNode {
  const approval = useMutation({ mutationFn: approve, onSuccess: done });
  return (
    <CreateForm
      label={{ summary: 'Connect a machine', button: 'Approve' }}
      of={approval}
      toRequest={toApproval}
      note={
        approval.data !== undefined && (
          <p role="status">
            {approval.data.machine} fetches its key ({approval.data.scopes.join(', ')}) within seconds. Revoke it if
            that is not the machine you meant.
          </p>
        )
      }
    >
      <label>
        Code that <code>recount connect</code> shows on the machine
        <input name="code" required maxLength={20} placeholder="WDJB-MJHT" autoComplete="off" spellCheck={false} />
      </label>
      <label>
        Owner of the machine (optional; otherwise set by the uploader)
        <input name="person" maxLength={200} placeholder="ada@example.org" />
      </label>
    </CreateForm>
  );
}

function toApproval(form: HTMLFormElement): Body<'/v1/device/approve', 'post'> {
  const data = new FormData(form);
  const person = String(data.get('person')).trim();
  return { user_code: String(data.get('code')), ...(person !== '' && { person }) };
}

// The door: one request in, one JSON value out.

const OPERATIONS = { list, aim, through, open, find, inside, scopes, suspects, state, focus_inside, select_content, fill, select, nearby, tag, untag, type_secret, drawn, submission, element: ({ key }) => elementOf(key) };

function answer(request) {
  forgetLayout();
  contexts = new Map();
  if (!request.op) return learn(request);
  const operation = Object.hasOwn(OPERATIONS, request.op) && OPERATIONS[request.op];
  if (!operation) throw new Error(`no such operation: ${request.op}`);
  try {
    return operation(request);
  } finally {
    forgetLayout();
    contexts = new Map();
  }
}

// Without a world of our own the page shares this object: hidden from enumeration, and not to be replaced.
Object.defineProperty(globalThis, HOME, { value: answer, enumerable: false, configurable: false, writable: false });
return answer(request);

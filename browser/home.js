"use strict";
// The scripts are one function of one request. It is installed once per document and keeps its state there.

const HOME = "__q7xk2vd9h";
// Only what is really defined: an element of the page may have this for its id.
if (Object.hasOwn(globalThis, HOME)) return globalThis[HOME](request);

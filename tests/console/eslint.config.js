// Lint rules of the console: mistakes first, then rules that the Content-Security-Policy enforces anyway.

const browser = [
  'AbortController', 'AbortSignal', 'Blob', 'CryptoKey', 'DOMException', 'DOMParser', 'DataView', 'Element', 'Event', 'File', 'HTMLElement',
  'HTMLInputElement', 'Headers', 'MouseEvent', 'Node', 'Request', 'ResizeObserver', 'Response', 'TextDecoder', 'TextEncoder', 'URL', 'URLSearchParams',
  'addEventListener', 'atob', 'btoa', 'cancelAnimationFrame', 'clearInterval', 'clearTimeout', 'crypto', 'document', 'fetch', 'history', 'innerHeight',
  'innerWidth', 'localStorage', 'location', 'matchMedia', 'navigator', 'removeEventListener', 'requestAnimationFrame', 'setInterval', 'setTimeout', 'performance', 'window',
];
const sinks = ['innerHTML', 'outerHTML', 'insertAdjacentHTML', 'srcdoc'];

export default [
  {
    files: ['**/*.js'],
    languageOptions: { ecmaVersion: 2023, sourceType: 'module', globals: Object.fromEntries(browser.map((name) => [name, 'readonly'])) },
    rules: {
      'array-callback-return': 'error', 'consistent-return': 'off', 'constructor-super': 'error', 'default-case-last': 'error', 'eqeqeq': 'error',
      'for-direction': 'error', 'getter-return': 'error', 'no-alert': 'error', 'no-async-promise-executor': 'error', 'no-caller': 'error',
      'no-case-declarations': 'error', 'no-class-assign': 'error', 'no-compare-neg-zero': 'error', 'no-cond-assign': 'error', 'no-console': 'error',
      'no-const-assign': 'error', 'no-constant-condition': 'error', 'no-constructor-return': 'error', 'no-debugger': 'error', 'no-dupe-args': 'error',
      'no-dupe-class-members': 'error', 'no-dupe-else-if': 'error', 'no-dupe-keys': 'error', 'no-duplicate-case': 'error', 'no-duplicate-imports': 'error',
      'no-empty': 'error', 'no-empty-pattern': 'error', 'no-eval': 'error', 'no-ex-assign': 'error', 'no-extend-native': 'error', 'no-fallthrough': 'error',
      'no-func-assign': 'error', 'no-implicit-globals': 'error', 'no-implied-eval': 'error', 'no-import-assign': 'error', 'no-invalid-regexp': 'error',
      'no-irregular-whitespace': 'error', 'no-loss-of-precision': 'error', 'no-new-func': 'error', 'no-new-wrappers': 'error', 'no-obj-calls': 'error',
      'no-promise-executor-return': 'off', 'no-prototype-builtins': 'error', 'no-redeclare': 'error', 'no-script-url': 'error', 'no-self-assign': 'error',
      'no-self-compare': 'error', 'no-shadow-restricted-names': 'error', 'no-sparse-arrays': 'error', 'no-this-before-super': 'error',
      'no-throw-literal': 'error', 'no-undef': 'error', 'no-unmodified-loop-condition': 'error', 'no-unreachable': 'error', 'no-unreachable-loop': 'error',
      'no-unsafe-finally': 'error', 'no-unsafe-negation': 'error', 'no-unsafe-optional-chaining': 'error', 'no-unused-expressions': 'error',
      'no-unused-private-class-members': 'error', 'no-unused-vars': ['error', { argsIgnorePattern: '^_' }], 'no-use-before-define': ['error', { functions: false, classes: false, variables: false }],
      'no-useless-catch': 'error', 'no-useless-escape': 'error', 'no-var': 'error', 'no-with': 'error', 'prefer-const': 'error', 'require-yield': 'error',
      'use-isnan': 'error', 'valid-typeof': 'error',
      'max-lines': ['error', { max: 420 }],
      'no-restricted-properties': ['error', ...sinks.map((property) => ({ property, message: 'Strings never become markup: use h() of lib/dom.js.' })), { object: 'document', property: 'write' }],
    },
  },
];

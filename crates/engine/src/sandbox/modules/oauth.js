// The signing part of OAuth 1.0: the class `OAuth` of the module of that name, without requests.
'use strict';

const crypto = require('crypto');
const querystring = require('querystring');
const url = require('url');

const NONCE = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789';

function OAuth(requestUrl, accessUrl, consumerKey, consumerSecret, version, authorizeCallback, signatureMethod, nonceSize, customHeaders) {
    this._isEcho = false;
    this._requestUrl = requestUrl;
    this._accessUrl = accessUrl;
    this._consumerKey = consumerKey;
    this._consumerSecret = this._encodeData(consumerSecret);
    this._version = version;
    this._authorize_callback = authorizeCallback === undefined ? 'oob' : authorizeCallback;
    if (signatureMethod !== 'PLAINTEXT' && signatureMethod !== 'HMAC-SHA1') {
        throw new Error('Un-supported signature method: ' + signatureMethod);
    }
    this._signatureMethod = signatureMethod;
    this._nonceSize = nonceSize || 32;
    this._headers = customHeaders || { Accept: '*/*', Connection: 'close', 'User-Agent': 'Node authentication' };
    this._clientOptions = { requestTokenHttpMethod: 'POST', accessTokenHttpMethod: 'POST' };
    this._oauthParameterSeperator = ',';
}
exports.OAuth = OAuth;

Object.assign(OAuth.prototype, {
    _getTimestamp() { return Math.floor(Date.now() / 1000); },
    _encodeData(text) {
        if (text === null || text === undefined || text === '') { return ''; }
        return encodeURIComponent(String(text).toWellFormed()).replace(/[!'()*]/g, (c) => '%' + c.charCodeAt(0).toString(16).toUpperCase());
    },
    _decodeData(text) { return text === null || text === undefined ? text : decodeURIComponent(String(text).replace(/\+/g, ' ')); },
    _getNonce(size) {
        const bytes = crypto.randomBytes(size);
        let nonce = '';
        for (let i = 0; i < size; i += 1) { nonce += NONCE[bytes[i] % NONCE.length]; }
        return nonce;
    },
    _normalizeUrl(text) {
        const parsed = url.parse(text, true);
        const isUsualPort = !parsed.port || parsed.protocol === 'http:' && parsed.port === '80' || parsed.protocol === 'https:' && parsed.port === '443';
        return parsed.protocol + '//' + parsed.hostname + (isUsualPort ? '' : ':' + parsed.port) + (parsed.pathname || '/');
    },
    _isParameterNameAnOAuthParameter(name) { return /^oauth_/.test(name); },
    _makeArrayOfArgumentsHash(hash) {
        const pairs = [];
        for (const name of Object.keys(hash)) {
            const value = hash[name];
            for (const item of Array.isArray(value) ? value : [value]) { pairs.push([name, item]); }
        }
        return pairs;
    },
    _sortRequestParams(pairs) {
        const before = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
        return pairs.sort((a, b) => before(a[0], b[0]) || before(a[1], b[1]));
    },
    _normaliseRequestParams(hash) {
        const pairs = this._makeArrayOfArgumentsHash(hash).map((pair) => pair.map((part) => this._encodeData(part)));
        return this._sortRequestParams(pairs).map((pair) => pair.join('=')).join('&');
    },
    _createSignatureBase(method, requestUrl, parameters) {
        return method.toUpperCase() + '&' + this._encodeData(this._normalizeUrl(requestUrl)) + '&' + this._encodeData(parameters);
    },
    _createSignature(base, tokenSecret) {
        const key = this._consumerSecret + '&' + this._encodeData(tokenSecret);
        return this._signatureMethod === 'PLAINTEXT' ? key : crypto.createHmac('sha1', key).update(base).digest('base64');
    },
    _getSignature(method, requestUrl, parameters, tokenSecret) {
        return this._createSignature(this._createSignatureBase(method, requestUrl, parameters), tokenSecret);
    },
    // The OAuth parameters with the signature, and all others, as sorted pairs.
    _prepareParameters(token, tokenSecret, method, requestUrl, extra) {
        const oauth = {
            oauth_timestamp: this._getTimestamp(),
            oauth_nonce: this._getNonce(this._nonceSize),
            oauth_version: this._version,
            oauth_signature_method: this._signatureMethod,
            oauth_consumer_key: this._consumerKey,
        };
        if (token) { oauth.oauth_token = token; }
        if (this._isEcho) { return this._sortRequestParams(this._makeArrayOfArgumentsHash(oauth)); }
        Object.assign(oauth, extra);
        const query = querystring.parse(url.parse(requestUrl).query || '');
        for (const name of Object.keys(query)) { if (!Object.hasOwn(oauth, name)) { oauth[name] = query[name]; } }
        const signature = this._getSignature(method, requestUrl, this._normaliseRequestParams(oauth), tokenSecret);
        const pairs = this._sortRequestParams(this._makeArrayOfArgumentsHash(oauth));
        pairs.push(['oauth_signature', signature]);
        return pairs;
    },
    _buildAuthorizationHeaders(pairs) {
        const parts = this._isEcho ? ['realm="' + this._realm + '"'] : [];
        for (const [name, value] of pairs) {
            if (this._isParameterNameAnOAuthParameter(name)) { parts.push(this._encodeData(name) + '="' + this._encodeData(value) + '"'); }
        }
        return 'OAuth ' + parts.join(this._oauthParameterSeperator);
    },
    authHeader(requestUrl, token, tokenSecret, method) {
        return this._buildAuthorizationHeaders(this._prepareParameters(token, tokenSecret, method || 'GET', requestUrl, {}));
    },
    signUrl(requestUrl, token, tokenSecret, method) {
        const pairs = this._prepareParameters(token, tokenSecret, method || 'GET', requestUrl, {});
        const query = pairs.map((pair) => this._encodeData(pair[0]) + '=' + this._encodeData(pair[1])).join('&');
        const parsed = url.parse(requestUrl, false);
        return parsed.protocol + '//' + parsed.host + parsed.pathname + '?' + query;
    },
});

function OAuthEcho(realm, verifyUrl, consumerKey, consumerSecret, version, signatureMethod, nonceSize, customHeaders) {
    OAuth.call(this, undefined, undefined, consumerKey, consumerSecret, version, undefined, signatureMethod, nonceSize, customHeaders);
    this._isEcho = true;
    this._realm = realm;
    this._verifyCredentials = verifyUrl;
}
OAuthEcho.prototype = Object.create(OAuth.prototype, { constructor: { value: OAuthEcho, writable: true, configurable: true } });
exports.OAuthEcho = OAuthEcho;
